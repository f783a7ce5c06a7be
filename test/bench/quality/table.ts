/** Table of the quality bench: one row per figure, one column per variant of our search. Rows are printed as they are measured. */

/** `cells`: printed values by column name. */
export type Row = { name: string; cells: Readonly<Record<string, string>> };

const NAME_WIDTH = 34;

export function header(title: string, columns: readonly string[]): string {
  return line(
    title,
    columns.map((column) => column),
    columns,
  );
}

export function rowLine({ name, cells }: Row, columns: readonly string[]): string {
  return line(
    `  ${name}`,
    columns.map((column) => cells[column] ?? "–"),
    columns,
  );
}

function line(name: string, cells: readonly string[], columns: readonly string[]): string {
  const width = Math.max(16, ...columns.map((column) => column.length));
  return `${name.padEnd(NAME_WIDTH)} ${cells.map((cell) => cell.padEnd(width)).join("  ")}`.trimEnd();
}
