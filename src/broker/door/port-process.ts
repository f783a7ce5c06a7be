/**
 * Holds a TCP port for the broker, because Roampal's hooks may kill the port's process. Passes each connection to a socket of the broker,
 * after a line with the client's address (PROXY protocol, version 1). Arguments: host, port, socket. Prints `open` or an error code.
 */
import { connect, createServer, type Socket } from "node:net";

/** Time that open connections get to read their last bytes after the broker has ended, ms. */
const LEAVE_MAX_MS = 2_000;
const [host = "127.0.0.1", port = "0", path = ""] = process.argv.slice(2);

const server = createServer({ allowHalfOpen: true }, (client) => {
  const broker = connect({ path, allowHalfOpen: true });
  broker.write(
    `PROXY TCP4 ${client.remoteAddress} ${client.localAddress} ${client.remotePort} ${client.localPort}\r\n`,
  );
  join(client, broker);
  join(broker, client);
});

function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on("error", () => to.destroy());
  from.on("close", (hadError) => {
    if (hadError || !from.readableEnded) to.destroy();
  });
}

function leave(): void {
  server.close(() => process.exit(0));
  setTimeout(() => process.exit(0), LEAVE_MAX_MS).unref();
}

// Ignores the signals that a terminal also sends to the broker: the broker still has answers to send through this process.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
process.stdin.on("error", leave).on("end", leave).resume();
process.stdout.on("error", () => {});
server.on("error", (error: NodeJS.ErrnoException) => {
  process.stdout.write(`${error.code ?? error.message}\n`, () => process.exit(1));
});
server.listen({ host, port: Number(port) }, () => process.stdout.write("open\n"));
