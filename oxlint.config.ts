/**
 * What the linter holds: mistakes that a daemon does not survive, and the rooms of test/house/layers.ts while one types.
 * Taste is the formatter's and the reviewer's. Run by `npm run check`.
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

/** Returns the imports closed to a room. Its own folders and npm packages are not looked at here. */
function closedImports(name: string, room: Room, alsoOpen: readonly string[] = []) {
  const open = new Set([name, ...room.mayImport, ...alsoOpen]);
  const message = "This room may not import that one: test/house/layers.ts.";
  const closed = Object.keys(ROOMS).filter((other) => !open.has(other));
  return {
    paths: [ENV_IMPORT, ...room.closedNode.map((module) => ({ name: module, message }))],
    patterns: closed.map((other) => ({
      group: [
        ...fromBelow(`${other}/**`),
        // Open rooms, and open files, inside a closed one.
        ...[...open, ...room.mayImportFiles]
          .filter((inside) => inside.startsWith(`${other}/`))
          .flatMap((inside) => fromBelow(inside.endsWith(".ts") ? inside : `${inside}/**`).map((path) => `!${path}`)),
      ],
      message,
      allowTypeImports: other === TYPES_FOR_ALL,
    })),
  };
}

/** What an import of that path of src looks like in a folder, and in the folders in it. */
function fromBelow(path: string): string[] {
  return [`../${path}`, `../**/${path}`];
}

export default defineConfig({
  plugins: ["typescript"],
  // Only what stands here.
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
        // A function fits a page: what is longer names its reason where it is switched off.
        "max-lines-per-function": ["error", { max: 60 }],
      },
    },
    // A room inside a room comes later: the last one that fits a file counts.
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
    // Entry points: they hand process.env to the configuration, and the terminal is theirs.
    { files: ["src/{bin,cli}/**/*.ts"], rules: { "no-console": "off", "no-restricted-properties": "off" } },
    { files: ["src/agents/{pi,opencode}/palace.ts"], rules: { "no-restricted-properties": "off" } },
    { files: ["src/config/**/*.ts"], rules: { "no-restricted-properties": "off" } },
  ],
});
