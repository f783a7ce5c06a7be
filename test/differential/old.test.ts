/** Differential test against MemPalace 3.3.6. Each version has its own file, so that both run in parallel. */
import { describeDifferential } from "./run.ts";

await describeDifferential("3.3.6");
