/** Small MCP client that calls tools through a real shim, as an agent does. The proof of `palace up` and the demo use it. */
import { McpChild, McpRefusal } from "../../base/mcp-child.ts";
import { parseAs } from "../../base/parse-json.ts";
import type { Env } from "../../config/env.ts";
import { type PalaceError, unavailable } from "../../base/errors.ts";

export type ToolResult = Readonly<Record<string, unknown>>;

export type StdioMcp = AsyncDisposable & {
  readonly pid: number;
  /** Sends a request. Errors: STORE_UNAVAILABLE with the server's message. */
  request: (method: string, params: unknown) => Promise<unknown>;
  /** Calls a tool and parses its JSON answer. Errors: STORE_UNAVAILABLE with the server's message, or with stderr if the process exited. */
  call: (tool: string, args: Record<string, unknown>) => Promise<ToolResult>;
  /** Ends stdin and resolves to the exit code; null if the process was killed. */
  close: () => Promise<number | null>;
};

export type StdioMcpOptions = { env: Env; timeoutMs: number; signal?: AbortSignal };

const STDERR_KEPT_CHARS = 2000;
const CLOSE_TIMEOUT_MS = 10_000;

export async function openStdioMcp(
  argv: readonly string[],
  { env, timeoutMs, signal }: StdioMcpOptions,
): Promise<StdioMcp> {
  let stderr = "";
  const child = new McpChild(argv, {
    ...{ env, stderr: "pipe" },
    describe: (end) =>
      end instanceof Error ? end.message : `the shim ended with code ${end ?? "none"}: ${stderr.trim()}`,
  });
  child.process.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-STDERR_KEPT_CHARS);
  });
  signal?.addEventListener("abort", () => child.process.kill(), { once: true });
  const close = async (): Promise<number | null> => {
    child.process.stdin.end();
    const timer = setTimeout(() => child.process.kill("SIGKILL"), CLOSE_TIMEOUT_MS);
    return child.exited.finally(() => clearTimeout(timer));
  };
  try {
    await child.introduce("palace", { timeoutMs });
  } catch (error) {
    await close();
    throw asFailure(error);
  }
  const request = (method: string, params: unknown): Promise<unknown> =>
    child.request(method, params, { timeoutMs }).catch((error: unknown) => {
      throw asFailure(error);
    });
  const call = async (tool: string, values: Record<string, unknown>): Promise<ToolResult> =>
    toolResult(tool, await request("tools/call", { name: tool, arguments: values }));
  return { pid: child.process.pid ?? 0, request, call, close, [Symbol.asyncDispose]: async () => void (await close()) };
}

function toolResult(tool: string, result: unknown): ToolResult {
  const { content, isError } = result as { content?: { text?: string }[]; isError?: boolean };
  const text = content?.[0]?.text ?? "{}";
  if (isError === true) throw failure(`${tool}: ${text}`);
  return parseAs(text, isAnswer) ?? fail(`${tool} answered with text that is not JSON`);
}

/** Also accepts a list, because `list_tunnels` answers with a list. */
function isAnswer(value: unknown): value is ToolResult {
  return typeof value === "object" && value !== null;
}

function fail(message: string): never {
  throw failure(message);
}

function failure(message: string, hint = "run `palace doctor`"): PalaceError {
  return unavailable(message, hint);
}

function asFailure(error: unknown): PalaceError {
  const { message = (error as Error).message, hint } = error instanceof McpRefusal ? error.data : {};
  return failure(String(message), hint === undefined ? undefined : String(hint));
}
