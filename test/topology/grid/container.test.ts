/** Everything in containers: the compose stack, and a devbox that is alone. */
import { testGrid } from "./grid.ts";

testGrid(["container-only-compose", "container-only-alone"]);
