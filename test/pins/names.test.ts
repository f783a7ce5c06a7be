/** Pins names that users and agents type: environment variables, executables, entry points of the package. See README.md. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { builtFile } from "../../src/cli/executable.ts";
import { variableNames } from "../../src/config/env.ts";
import { SETTINGS_FILE } from "../../src/config/settings.ts";
import { SETTING_KEYS } from "../../src/config/settings-table.ts";

const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  name: string;
  bin: Record<string, string>;
  exports: Record<string, string>;
  engines: Record<string, string>;
};

test("the list of environment variables is complete", () => {
  expect(variableNames().sort()).toEqual(
    [
      "MEMPALACE_PATH",
      "MEMPALACE_PALACE_PATH",
      "MEMPALACE_PALACE",
      "MEMPAL_PALACE_PATH",
      "MEMPALACE_HOOKS_AUTO_SAVE",
      "MEMPAL_DIR",
      "MEMPALACE_CONFIG_DIR",
      "MEMPALACE_BROKER",
      "MEMPALACE_LISTEN",
      "MEMPALACE_OUTCOME_PORT",
      "MEMPALACE_OUTCOME_LOCAL",
      "MEMPALACE_ALLOWED_HOSTS",
      "MEMPALACE_MINE_ROOTS",
      "MEMPALACE_MAX_CHUNKS_PER_FILE",
      "MEMPALACE_TOPIC_TUNNEL_MIN_COUNT",
      "MEMPALACE_KG_HALLWAY_MIN_COUNT",
      "MEMPALACE_ENTITY_LANGUAGES",
      "MEMPAL_ENTITY_LANGUAGES",
      "MEMPALACE_TOKEN",
      "MEMPALACE_TOKEN_FILE",
      "MEMPALACE_AGENT_NAME",
      "MEMPALACE_WAKE_UP",
      "MEMPALACE_WAKE_UP_WING",
      "MEMPALACE_WAKE_UP_BYTES",
      "MEMPALACE_TURN_MAX_MS",
      "MEMPALACE_RECALL",
      "MEMPALACE_OUTCOMES",
      "MEMPALACE_JUDGE_URL",
      "MEMPALACE_JUDGE_MODEL",
      "MEMPALACE_TEST_COMMANDS",
      "MEMPALACE_JUDGE_KEY",
      "MEMPALACE_HOOK_COMMAND",
      "MEMPALACE_MCP_COMMAND",
      "MEMPALACE_MCP_TIMEOUT_MS",
      "MEMPALACE_MCP_INIT_TIMEOUT_MS",
      "MEMPALACE_MCP_MAX_RESPAWNS",
      "MEMPALACE_MCP_RESPAWN_BACKOFF_MS",
      "MEMPALACE_EXT_DEBUG",
      "MEMPALACE_TOOLS",
      "MEMPALACE_IDLE_EXIT_MINUTES",
      "MEMPALACE_TOPOLOGY",
      "MEMPALACE_TRUST_MOUNT",
      "MEMPALACE_ENGINE",
      "MEMPALACE_ENGINE_TIMEOUT_SECONDS",
      "MEMPALACE_DRIVER",
      "MEMPALACE_CHROMA_URL",
      "MEMPALACE_CHROMA_TOKEN",
      "MEMPALACE_CHROMA_TENANT",
      "MEMPALACE_CHROMA_DATABASE",
      "MEMPALACE_VECTORS",
      "MEMPALACE_MODEL_DIR",
      "MEMPALACE_MODEL_URL",
      "MEMPALACE_RERANK_DIR",
      "HTTPS_PROXY",
      "https_proxy",
      "NO_PROXY",
      "no_proxy",
      "MEMPALACE_OFFLINE",
      "MEMPALACE_REDACT",
      "MEMPALACE_AUDIT_DAYS",
      "MEMPALACE_BACKUP_DIR",
      "MEMPALACE_BACKUP_HOURS",
      "MEMPALACE_BACKUP_KEEP",
      "MEMPALACE_BACKUP_PASSPHRASE_FILE",
      "MEMPALACE_BACKUP_PASSPHRASE",
      "MEMPALACE_LOG_LEVEL",
      "SSH_ORIGINAL_COMMAND",
      "MEMPALACE_FAULT",
      "OTEL_EXPORTER_OTLP_ENDPOINT",
      "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
      "OTEL_EXPORTER_OTLP_PROTOCOL",
      "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
      "OTEL_TRACES_EXPORTER",
      "OTEL_SDK_DISABLED",
      "TRACEPARENT",
      "OPENCODE_DB",
      "CLAUDE_CONFIG_DIR",
      "CLAUDECODE",
      "SANDBOX_RUNTIME",
      "CODEX_SANDBOX_NETWORK_DISABLED",
      "PI_CODING_AGENT_DIR",
      "ROAMPAL_DEV",
      "ROAMPAL_DATA_PATH",
      "XDG_DATA_HOME",
      "XDG_RUNTIME_DIR",
      "XDG_STATE_HOME",
      "XDG_CACHE_HOME",
      "XDG_CONFIG_HOME",
      "PATH",
      "HOME",
    ].sort(),
  );
});

test("the list of keys in settings.json is complete", () => {
  expect(SETTINGS_FILE).toBe("settings.json");
  expect(SETTING_KEYS).toEqual([
    "model-dir",
    "model-url",
    "rerank-dir",
    "offline",
    "vectors",
    "listen",
    "allowed-hosts",
    "outcome-port",
    "outcome-local",
    "mine-roots",
    "idle-exit-minutes",
    "engine-timeout-seconds",
    "redact",
    "audit-days",
    "log-level",
    "driver",
    "chroma-url",
    "chroma-tenant",
    "chroma-database",
    "backup-dir",
    "backup-hours",
    "backup-keep",
    "backup-passphrase-file",
    "tools",
    "wake-up",
    "wake-up-wing",
    "wake-up-bytes",
    "turn-max-ms",
    "recall",
    "hooks-auto-save",
    "mcp-timeout-ms",
    "mcp-init-timeout-ms",
    "mcp-max-respawns",
    "mcp-respawn-backoff-ms",
    "outcomes",
    "judge-url",
    "judge-model",
    "test-commands",
    "max-chunks-per-file",
    "topic-tunnel-min-count",
    "kg-hallway-min-count",
    "entity-languages",
  ]);
});

test("the list of executables is complete, and both names of the shim start the same file", () => {
  const { bin } = manifest;
  expect(Object.keys(bin).sort()).toEqual([
    "mempalace",
    "mempalace-broker",
    "mempalace-docs",
    "mempalace-mcp",
    "mempalace-session",
    "mp-shim",
    "palace",
    "roampal",
  ]);
  expect(bin["mempalace-mcp"]).toBe(bin["mp-shim"]);
});

test("package.json gives each executable the file that builtFile() returns", () => {
  const { "mempalace-mcp": _, ...bin } = manifest.bin;
  for (const [name, file] of Object.entries(bin)) expect(file, name).toBe(`./dist/bin/${builtFile(name)}`);
});

test("the package exports only its client and its protocol", () => {
  expect(manifest.name).toBe("palace-devbox");
  expect(manifest.engines["node"]).toBe(">=24");
  expect(manifest.exports).toEqual({
    ".": "./dist/bin/library.js",
    "./protocol": "./dist/protocol/spec.js",
    "./package.json": "./package.json",
  });
});
