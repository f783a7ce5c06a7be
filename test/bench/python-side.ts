/** Sides of the comparison with the Python package: a home for each with the same model, and one MCP client for both. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as McpClient } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { realModelDir } from "../helpers/palace.ts";

/** `ratio`: how many times faster we are; for the bare embedder, our speed as a share of the embedder's speed. */
export type PythonRow = { name: string; ratio: number; bar: number | undefined; detail: string };

const CALL_TIMEOUT_MS = 120_000;

/** Makes a HOME for the Python side, in which Chroma finds our side's model files. */
export function pythonHome(): Disposable & { home: string } {
  if (realModelDir === undefined) throw new Error("there is no model");
  const home = mkdtempSync(join(tmpdir(), "python-"));
  const folder = join(home, ".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx");
  mkdirSync(folder, { recursive: true });
  for (const name of ["config.json", "special_tokens_map.json", "tokenizer_config.json", "tokenizer.json", "vocab.txt"])
    symlinkSync(join(realModelDir, name), join(folder, name));
  symlinkSync(join(realModelDir, "onnx/model.onnx"), join(folder, "model.onnx"));
  return { home, [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }) };
}

export type Server = AsyncDisposable & {
  call(tool: string, values: Record<string, unknown>): Promise<Record<string, unknown>>;
};

export type Command = { argv: readonly string[]; env: Readonly<Record<string, string>> };

/** Starts a server. Resolves when it has answered `initialize`. */
export async function openServer({ argv, env }: Command): Promise<Server> {
  const [command = "", ...args] = argv;
  const transport = new StdioClientTransport({ command, args, env, stderr: "ignore" });
  const client = new McpClient({ name: "bench", version: "1" });
  await client.connect(transport, { timeout: CALL_TIMEOUT_MS });
  return {
    async call(tool, values) {
      const request = { name: `mempalace_${tool}`, arguments: values };
      const result = await client.callTool(request, { timeout: CALL_TIMEOUT_MS });
      const [content] = result.content as { text?: string }[];
      return JSON.parse(content?.text ?? "{}") as Record<string, unknown>;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
