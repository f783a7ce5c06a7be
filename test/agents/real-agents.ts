/** Starts the real agents with one prompt for the stub model, on this machine or in a devbox. */
import type { Agent } from "../../scripts/agents.ts";

export type Run = { args: string[]; env: Record<string, string>; input: string };
export const MODEL_OF: Record<Agent, string> = { pi: "stub-pi", opencode: "stub-opencode", claude: "stub-claude" };
export const PREFIX_OF: Record<Agent, string> = {
  pi: "mcp__mempalace__",
  opencode: "mempalace_",
  claude: "mcp__mempalace__",
};

/** pi reads its models only from this file of its home. */
export const PI_MODELS = ".pi/agent/models.json";
export function piModels(url: string): string {
  const models = [{ id: MODEL_OF.pi, contextWindow: 128_000, maxTokens: 4096 }];
  return JSON.stringify({
    providers: { stub: { baseUrl: `${url}/v1`, api: "openai-completions", apiKey: "unused", models } },
  });
}

function opencodeSettings(url: string): string {
  const model = { name: "Stub", tool_call: true, limit: { context: 128_000, output: 8192 } };
  return JSON.stringify({
    model: `stub/${MODEL_OF.opencode}`,
    small_model: `stub/${MODEL_OF.opencode}`,
    share: "disabled",
    enabled_providers: ["stub"],
    provider: {
      stub: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: `${url}/v1`, apiKey: "unused" },
        models: { [MODEL_OF.opencode]: model },
      },
    },
  });
}

/** Maximum wait of a turn for its memory: longer than a hook takes on a machine under load. */
const PATIENT = { MEMPALACE_TURN_MAX_MS: "30000" };

/** Returns the arguments, environment and input with which an agent answers one prompt on stdout. */
export function runOf(agent: Agent, prompt: string, url: string): Run {
  switch (agent) {
    case "pi":
      return {
        args: ["-p", "--model", `stub/${MODEL_OF.pi}`, prompt],
        env: { ...PATIENT, PI_OFFLINE: "1" },
        input: "",
      };
    case "opencode":
      return {
        args: ["run"],
        env: {
          ...PATIENT,
          OPENCODE_CONFIG_CONTENT: opencodeSettings(url),
          OPENCODE_DISABLE_MODELS_FETCH: "1",
          OPENCODE_DISABLE_AUTOUPDATE: "1",
          OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        },
        input: prompt,
      };
    case "claude":
      return {
        args: ["-p", "--model", MODEL_OF.claude, "--allowedTools", "Bash(node --test:*)"],
        env: {
          ...PATIENT,
          ANTHROPIC_BASE_URL: url,
          ANTHROPIC_API_KEY: "stub",
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
          DISABLE_AUTOUPDATER: "1",
          // The default of five seconds is too short on a machine under load: the turn would begin without the memory's tools.
          MCP_CONNECT_TIMEOUT_MS: "60000",
        },
        input: prompt,
      };
  }
}

/** Interactive use of an agent: the command without a prompt, its first screen (`drawn`), and the keys that end it (`leave`). */
export type Tui = { command: string; env: Record<string, string>; drawn: RegExp; leave: string };

export function tuiOf(agent: Agent, url: string): Tui {
  const { ANTHROPIC_API_KEY, ...env } = runOf(agent, "", url).env;
  switch (agent) {
    case "pi":
      return { command: `pi --model stub/${MODEL_OF.pi}`, env, drawn: new RegExp(MODEL_OF.pi), leave: "/quit" };
    case "opencode":
      return { command: "opencode", env, drawn: /Ask anything/, leave: "/exit" };
    case "claude":
      return {
        command: `claude --model ${MODEL_OF.claude}`,
        // Claude Code asks the user before it uses an API key, but not before it uses a token.
        env: { ...env, ANTHROPIC_AUTH_TOKEN: ANTHROPIC_API_KEY ?? "" },
        drawn: new RegExp(`${MODEL_OF.claude}[^]*❯`),
        leave: "/exit",
      };
  }
}

/** Shell script that stores the answers to the questions that Claude Code's TUI asks a new user. */
export const CLAUDE_ANSWERED = `set -e
answered='.hasCompletedOnboarding = true | .projects["/workspace"].hasTrustDialogAccepted = true'
jq "$answered" ~/.claude.json > ~/.claude.json.new && mv ~/.claude.json.new ~/.claude.json`;
