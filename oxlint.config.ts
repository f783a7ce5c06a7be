/**
 * Linter settings: rules against mistakes that a daemon does not survive, and the import rules of test/house/layers.ts, so that an editor
 * shows them. Style is left to the formatter and the reviewer. `npm run check` runs the linter.
 */
import { defineConfig } from "oxlint";
import {
  COMPOSITION_ROOTS,
  COMPOSITION_ROOTS_MAY_IMPORT,
  type Room,
  ROOMS,
  TYPES_FOR_ALL,
} from "./test/house/layers.ts";

const ENV_IMPORT = { name: "node:process", importNames: ["env"], message: "The environment is read in src/config." };
const ENV_READ = { object: "process", property: "env", message: "The environment is read in src/config." };

/**
 * Returns the imports that are forbidden in a room (a folder in the table of test/house/layers.ts). Ignores imports of the room's own
 * folders and of npm packages.
 */
function closedImports(name: string, room: Room, alsoOpen: readonly string[] = []) {
  const open = new Set([name, ...room.mayImport, ...alsoOpen]);
  const message = "This room may not import that one: test/house/layers.ts.";
  const closed = Object.keys(ROOMS).filter((other) => !open.has(other));
  return {
    paths: [ENV_IMPORT, ...room.closedNode.map((module) => ({ name: module, message }))],
    patterns: closed.map((other) => ({
      group: [
        ...fromBelow(`${other}/**`),
        // Folders and files that this room may import although they are inside a forbidden folder.
        ...[...open, ...room.mayImportFiles]
          .filter((inside) => inside.startsWith(`${other}/`))
          .flatMap((inside) => fromBelow(inside.endsWith(".ts") ? inside : `${inside}/**`).map((path) => `!${path}`)),
      ],
      message,
      allowTypeImports: other === TYPES_FOR_ALL,
    })),
  };
}

/** Returns the spellings of an import of that path of src from a file in the room or in a folder inside it. */
function fromBelow(path: string): string[] {
  return [`../${path}`, `../**/${path}`];
}

export default defineConfig({
  plugins: ["typescript"],
  // Only the rules listed here are on.
  categories: { correctness: "off" },
  options: { typeAware: true, reportUnusedDisableDirectives: "error" },
  ignorePatterns: ["dist/**", "volumes/**", ".ci/**"],
  rules: {
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/await-thenable": "error",
    "typescript/only-throw-error": "error",
    "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    "typescript/consistent-type-imports": ["error", { disallowTypeAnnotations: false }],
    "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
    eqeqeq: "error",
    "prefer-const": "error",
  },
  overrides: [
    {
      files: ["src/**/*.ts"],
      rules: {
        "no-console": "error",
        "no-restricted-properties": ["error", ENV_READ],
        "typescript/unbound-method": "error",
        // A function fits on one page. A longer function gives its reason where it switches this rule off.
        "max-lines-per-function": ["error", { max: 60 }],
      },
    },
    // A room inside another room comes later, because the last entry that matches a file counts.
    ...Object.entries(ROOMS)
      .toSorted(([a], [b]) => a.length - b.length)
      .map(([name, room]) => ({
        files: [`src/${name}/**/*.ts`],
        rules: { "no-restricted-imports": ["error" as const, closedImports(name, room)] as const },
      })),
    {
      files: COMPOSITION_ROOTS.map((file) => `src/${file}`),
      rules: {
        "no-restricted-imports": ["error", closedImports("broker", ROOMS.broker, COMPOSITION_ROOTS_MAY_IMPORT)],
      },
    },
    // Entry points: they pass process.env to the configuration, and may use the terminal.
    { files: ["src/{bin,cli}/**/*.ts"], rules: { "no-console": "off", "no-restricted-properties": "off" } },
    { files: ["src/agents/{pi,opencode}/palace.ts"], rules: { "no-restricted-properties": "off" } },
    { files: ["src/config/**/*.ts"], rules: { "no-restricted-properties": "off" } },
  ],
});
