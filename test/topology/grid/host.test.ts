/** Agents on the broker's own machine, and beside them a container over each of the SSH bridge's two ways. */
import { testGrid } from "./grid.ts";

testGrid(["native-only", "mixed-gate", "mixed-streamlocal"]);
