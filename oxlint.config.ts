/**
 * What the linter holds: mistakes that a daemon does not survive, and the layers of test/house/layers.ts while one types.
 * Taste is the formatter's and the reviewer's. Run by `npm run check`.
 */
import { defineConfig } from "oxlint";
import {
  COMPOSITION_ROOTS,
  COMPOSITION_ROOTS_MAY_IMPORT,
  LAYERS,
  type Layer,
  TYPES_FOR_ALL,
} from "./test/house/layers.ts";

const ENV_IMPORT = { name: "node:process", importNames: ["env"], message: "The environment is read in src/config." };
const ENV_READ = { object: "process", property: "env", message: "The environment is read in src/config." };

/** The imports closed to one folder of src. Its own sub-folders and npm packages are not looked at here. */
function closedImports(layer: Layer, alsoOpen: readonly string[] = []) {
  const open = new Set([...layer.mayImport, ...alsoOpen]);
  const exceptions = layer.mayImportFiles.flatMap((file) => fromBelow(file).map((pattern) => `!${pattern}`));
  const message = "This folder may not import that one: test/house/layers.ts.";
  return {
    paths: [ENV_IMPORT, ...layer.closedNode.map((name) => ({ name, message }))],
    patterns: Object.keys(LAYERS)
      .filter((folder) => !open.has(folder))
      .map((folder) => ({
        group: [...fromBelow(`${folder}/**`), ...exceptions],
        message,
        allowTypeImports: folder === TYPES_FOR_ALL,
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
    ...Object.entries(LAYERS).map(([folder, layer]) => ({
      files: [`src/${folder}/**/*.ts`],
      rules: { "no-restricted-imports": ["error" as const, closedImports(layer)] as const },
    })),
    {
      files: COMPOSITION_ROOTS.map((file) => `src/${file}`),
      rules: { "no-restricted-imports": ["error", closedImports(LAYERS.broker, COMPOSITION_ROOTS_MAY_IMPORT)] },
    },
    // Entry points: they hand process.env to the configuration, and the terminal is theirs.
    { files: ["src/bin/**/*.ts"], rules: { "no-console": "off", "no-restricted-properties": "off" } },
    { files: ["src/harness/{pi,opencode}/palace.ts"], rules: { "no-restricted-properties": "off" } },
    { files: ["src/config/**/*.ts"], rules: { "no-restricted-properties": "off" } },
  ],
});
