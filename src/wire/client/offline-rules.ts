/**
 * Rules of the wing `memory` that apply without a palace. A client may not import this wing, so the executable passes the rules in
 * (`broker/tools/offline.ts`).
 */

/** An agent's write that no broker can take now. `params`: checked arguments of the tool. `atMs`: time of the call. */
export type OfflineWrite = Readonly<{
  tool: string;
  params: Record<string, unknown>;
  key: string;
  atMs: number;
  agent: string;
}>;

/** Rules that a client applies while no broker answers. */
export type OfflineRules = Readonly<{
  /** Returns the answer if it depends only on the arguments and not on the palace; otherwise undefined. */
  answerWithoutPalace(write: OfflineWrite): { value: unknown } | undefined;
  /** Returns the id of a new drawer. `recipe`: the way to compute it. Errors: as the tool's, for bad arguments. */
  newDrawerId(recipe: "v3" | "bare", params: Record<string, unknown>): string;
}>;
