/** Entry of the graph thread, which reads and writes upstream's graph files so that the main thread does not wait. */
import { workerData } from "node:worker_threads";
import { serveThread } from "../../base/thread.ts";
import { type GraphPaths, GraphSide } from "./side.ts";

export type GraphMethods = Pick<GraphSide, "look" | "accept" | "send" | "rooms" | "factsElsewhere" | "close">;

await serveThread<GraphMethods>(() => {
  const side = new GraphSide(workerData as GraphPaths);
  return {
    look: () => side.look(),
    accept: () => side.accept(),
    send: () => side.send(),
    rooms: () => side.rooms(),
    factsElsewhere: () => side.factsElsewhere(),
    close: () => side.close(),
  };
});
