/** Differential test against MemPalace 3.11.0. Each version has its own file, so that both run in parallel. */
import { describeDifferential } from "./run.ts";

await describeDifferential("3.11.0");
