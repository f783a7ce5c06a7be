/**
 * Runs the scenarios of the grid (grid.ts) with agents on the broker's own machine, and with one container for each of the two ways to make
 * an SSH bridge.
 */
import { testGrid } from "./grid.ts";

testGrid(["native-only", "mixed-gate", "mixed-streamlocal"]);
