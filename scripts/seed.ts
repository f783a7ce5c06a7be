/**
 * Writes the first settings of a devbox's home at every start of the container. An existing file belongs to the user and stays unchanged.
 */
import { randomUUID } from "node:crypto";
import { existsSync, linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

type Seed = Readonly<{ path: string; content: string }>;

const SEEDS: readonly Seed[] = [
  // Without this file, zsh starts with questions.
  { path: ".zshrc", content: "# Yours: this home folder is a volume. /etc/zsh/devbox.zsh was read before.\n" },
];

export function seedHome(home: string): string[] {
  return SEEDS.filter(({ path, content }) => create(join(home, path), content)).map(({ path }) => path);
}

/** Creates a complete file or none. Never replaces a file, because link() fails for an existing name. */
function create(file: string, content: string): boolean {
  if (existsSync(file)) return false;
  const draft = `${file}.new-${randomUUID()}`;
  mkdirSync(dirname(file), { recursive: true });
  try {
    writeFileSync(draft, content, { mode: 0o600 });
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

if (import.meta.main) {
  try {
    const made = seedHome(homedir());
    if (made.length > 0) console.error(`settings to begin with: ${made.map((path) => `~/${path}`).join(", ")}`);
  } catch (error) {
    // The devbox is usable without these files.
    console.error(`the home's first settings could not be written: ${(error as Error).message}`);
  }
}
