/**
 * Settings that a devbox's home begins with, beside those that `palace install all` makes there. A file that is there is its
 * owner's and stays as it is. Run at every start of the container, by several at once on one home volume; uses nothing but Node.
 */
import { randomUUID } from "node:crypto";
import { existsSync, linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

type Seed = Readonly<{ path: string; content: object | string }>;

const SEEDS: readonly Seed[] = [
  // As in the other agents, where no tool of an MCP server is asked about.
  { path: ".claude/settings.json", content: { permissions: { allow: ["mcp__mempalace"] } } },
  // Without one, zsh begins with questions.
  { path: ".zshrc", content: "# Yours: this home folder is a volume. /etc/zsh/devbox.zsh was read before.\n" },
];

/** Shape: the files it made. Errors: those of the file system. */
export function seedHome(home: string): string[] {
  return SEEDS.filter(({ path, content }) => create(join(home, path), content)).map(({ path }) => path);
}

/** Whole or not at all, and never over another: a link is made only where nothing is. */
function create(file: string, content: object | string): boolean {
  if (existsSync(file)) return false;
  const draft = `${file}.new-${randomUUID()}`;
  mkdirSync(dirname(file), { recursive: true });
  try {
    writeFileSync(draft, typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`, {
      mode: 0o600,
    });
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
    // The box is of use without them.
    console.error(`the home's first settings could not be written: ${(error as Error).message}`);
  }
}
