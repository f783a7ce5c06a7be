/** Types of the rules that apply without a broker. A client may not import the wing `memory`, so the executable passes the rules. */

/** Agent's write in an outage. `params`: checked arguments of the tool. `atMs`: time of the call. */
export type OfflineWrite = Readonly<{
  tool: string;
  params: Record<string, unknown>;
  key: string;
  atMs: number;
  agent: string;
}>;

/** Rules for an outage (broker/tools/offline.ts). */
export type OfflineRules = Readonly<{
  /** Returns the answer if it depends only on the arguments, else undefined. */
  answerWithoutPalace(write: OfflineWrite): { value: unknown } | undefined;
  /** Returns the id of a new drawer. `recipe`: id recipe. Errors: the tool's errors for bad arguments. */
  newDrawerId(recipe: "v3" | "bare", params: Record<string, unknown>): string;
}>;
