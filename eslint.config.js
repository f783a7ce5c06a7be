/**
 * What the linter holds: mistakes that a daemon does not survive, and the layers of test/house/layers.ts while one types.
 * Taste is prettier's and the reviewer's. Run by `npm run check`.
 */
import tseslint from "typescript-eslint";
import { COMPOSITION_ROOTS, COMPOSITION_ROOTS_MAY_IMPORT, LAYERS, TYPES_FOR_ALL } from "./test/house/layers.ts";

const ENV_IMPORT = { name: "node:process", importNames: ["env"], message: "The environment is read in src/config." };
const ENV_READ = { object: "process", property: "env", message: "The environment is read in src/config." };

/** The imports closed to one folder of src. Its own sub-folders and npm packages are not looked at here. */
function closedImports({ mayImport, mayImportFiles, closedNode }, alsoOpen = []) {
  const open = new Set([...mayImport, ...alsoOpen]);
  const closed = Object.keys(LAYERS).filter((folder) => !open.has(folder));
  const exceptions = mayImportFiles.map((file) => file.replaceAll(".", "\\.")).join("|");
  const except = exceptions === "" ? "" : `(?!(${exceptions})$)`;
  const message = "This folder may not import that one: test/house/layers.ts.";
  return {
    paths: [ENV_IMPORT, ...closedNode.map((name) => ({ name, message }))],
    patterns: closed.map((folder) => ({
      regex: `^(\\.\\./)+${except}${folder}/`,
      message,
      allowTypeImports: folder === TYPES_FOR_ALL,
    })),
  };
}

const layers = Object.entries(LAYERS).map(([folder, layer]) => ({
  files: [`src/${folder}/**/*.ts`],
  rules: { "@typescript-eslint/no-restricted-imports": ["error", closedImports(layer)] },
}));

export default tseslint.config(
  { ignores: ["dist/**", "node_modules/**", "volumes/**", ".ci/**"] },
  {
    files: ["**/*.ts"],
    plugins: { "@typescript-eslint": tseslint.plugin },
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/await-thenable": "error",
      "@typescript-eslint/only-throw-error": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/consistent-type-imports": ["error", { disallowTypeAnnotations: false }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      eqeqeq: "error",
      "prefer-const": "error",
    },
  },
  {
    files: ["src/**/*.ts"],
    rules: {
      "no-console": "error",
      "no-restricted-properties": ["error", ENV_READ],
      "@typescript-eslint/unbound-method": "error",
      // A function fits a page: what is longer names its reason where it is switched off.
      "max-lines-per-function": ["error", { max: 60 }],
    },
  },
  ...layers,
  {
    files: COMPOSITION_ROOTS.map((file) => `src/${file}`),
    rules: {
      "@typescript-eslint/no-restricted-imports": ["error", closedImports(LAYERS.broker, COMPOSITION_ROOTS_MAY_IMPORT)],
    },
  },
  // Entry points: they hand process.env to the configuration, and the terminal is theirs.
  { files: ["src/bin/**/*.ts"], rules: { "no-console": "off", "no-restricted-properties": "off" } },
  { files: ["src/harness/{pi,opencode}/palace.ts"], rules: { "no-restricted-properties": "off" } },
  { files: ["src/config/**/*.ts"], rules: { "no-restricted-properties": "off" } },
);
