/** Answers `GET /api/health`: which server this is, and whether its memory is open. Source: outcome-memory.md 4.12. */
import type { Health, StatusReport } from "../../protocol/spec.ts";
import { Refused } from "./refused.ts";

/** Name that distinguishes this server from others at the port; other brokers read it (life/outcome-door.ts). */
export const SERVICE = "palace-devbox";

/** Returns the answer's body. A missing model is not a failure: searches then use words and static vectors. Errors: Refused, 503. */
export function healthOf(health: Health, { pid, home, search }: StatusReport): Record<string, unknown> {
  const { status, error, engine } = health;
  const fields = {
    ...{ service: SERVICE, version: health.version, pid, instance_id: health.instanceId, data_path: home },
    ...{ memory_initialized: status === "ready", session_manager_ready: status === "ready" },
    ...{ embedding_ok: engine.kind === "builtin" && search.modelState === "ready" },
    embedding: engine.kind === "builtin" ? search.modelState : "none",
    timestamp: new Date().toISOString(),
  };
  const refuse = (state: string, why: string): never => {
    throw new Refused(503, `Memory system not ready: ${why}`, { fields: { status: state, ...fields } });
  };
  if (engine.kind !== "builtin") return refuse("unhealthy", "another engine is in use");
  if (status === "opening") return refuse("starting", "it is starting");
  if (status === "draining") return refuse("unhealthy", "it is ending");
  if (status === "failed") return refuse("unhealthy", error?.message ?? "it cannot be opened");
  return { status: "healthy", ...fields };
}
