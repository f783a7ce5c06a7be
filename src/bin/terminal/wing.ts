/** A wing that a person names and that the palace has not. */
import type { Client } from "../../client/client.ts";
import { nearestWord } from "./nearest.ts";
import { type Output, printable } from "./output.ts";

/** Says so, with the wing that was probably meant; says nothing of a wing that there is. For where nothing was found in it. */
export async function tellAbsentWing(client: Client, wing: string, out: Output): Promise<void> {
  const { wings = {} } = (await client.callTool("mempalace_list_wings", {})) as { wings?: object };
  const names = Object.keys(wings);
  if (names.includes(wing)) return;
  const near = nearestWord(wing, names);
  out.notice(printable(`there is no wing ${wing}${near === undefined ? "" : `; did you mean ${near}?`}`));
}
