/** Against MemPalace 3.11.0; a file a version, so that the two run side by side. What is compared and how: run.ts. */
import { describeDifferential } from "./run.ts";

await describeDifferential("3.11.0");
