/**
 * Differential test against MemPalace 3.3.6. Each version has its own file, so that the two run in parallel. run.ts says what is compared
 * and how.
 */
import { describeDifferential } from "./run.ts";

await describeDifferential("3.3.6");
