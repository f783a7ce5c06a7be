/** Process between the broker and a temporary Chroma server. It stops the server when the broker dies or closes this process's stdin. */
import { spawn } from "node:child_process";

/** Signal that stops the server. With SIGTERM the server would use a whole CPU for ever instead (chroma issue 5594). */
const ASK = "SIGINT";
const STOP_TIMEOUT_MS = 3_000;

const [command = "", ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ["ignore", "ignore", "inherit"] });
server.on("error", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
});
server.on("exit", (code) => process.exit(code ?? 1));
const end = (): void => {
  server.kill(ASK);
  setTimeout(() => server.kill("SIGKILL"), STOP_TIMEOUT_MS);
};
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, end);
process.stdin.on("end", end).on("error", end).resume();
