/** Runs the grid with agents on the broker's own machine, and with a container for each of the SSH bridge's two ways. */
import { testGrid } from "./grid.ts";

testGrid(["native-only", "mixed-gate", "mixed-streamlocal"]);
