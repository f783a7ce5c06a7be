/**
 * The differential test against MemPalace 3.11.0. Each version has a file, so that the two run side by side. run.ts
 * says what is compared and how.
 */
import { describeDifferential } from "./run.ts";

await describeDifferential("3.11.0");
