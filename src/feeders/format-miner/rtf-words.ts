/** RTF's control words that matter for the text. Source: Rich Text Format 1.9.1; the texts for \cell and \row are upstream's. */

export const TEXT_OF_WORD: ReadonlyMap<string, string> = new Map([
  ...Object.entries({ par: "\n", line: "\n", sect: "\n\n", page: "\n\n", row: "\n", nestrow: "\n", tab: "\t" }),
  ...Object.entries({ cell: "|", nestcell: "|", emdash: "—", endash: "–", bullet: "•" }),
  ...Object.entries({ emspace: "\u2003", enspace: "\u2002", qmspace: "\u2005" }),
  ...Object.entries({ lquote: "‘", rquote: "’", ldblquote: "“", rdblquote: "”" }),
  ...Object.entries({ "~": "\u00a0", _: "\u2011", "{": "{", "}": "}", "\\": "\\", "\n": "\n", "\r": "\n" }),
]);

/** Words at the beginning of groups that do not contain the document's text. */
export const IGNORED_DESTINATIONS: ReadonlySet<string> = new Set(
  (
    "fonttbl colortbl stylesheet info pict object objdata themedata colorschememapping datastore latentstyles listtable " +
    "listoverridetable revtbl rsidtbl generator filetbl fldinst bkmkstart bkmkend header headerf headerl headerr footer " +
    "footerf footerl footerr footnote annotation atnid atnauthor atrfstart atrfend xe tc txe rxe pn pntext pntxta pntxtb " +
    "xmlnstbl mailmerge userprops docvar private shp shpinst shppict background nonesttables wgrffmtfilter"
  ).split(" "),
);

/** Code page for each \fcharset, as a name for TextDecoder. Source: the specification's table of character sets. */
export const CODE_PAGE_OF_CHARSET = numbered(
  "77 macintosh, 128 shift_jis, 129 euc-kr, 134 gbk, 136 big5, 161 windows-1253, 162 windows-1254, 163 windows-1258, " +
    "177 windows-1255, 178 windows-1256, 186 windows-1257, 204 windows-1251, 222 windows-874, 238 windows-1250",
);

const CODE_PAGES = numbered(
  "866 ibm866, 874 windows-874, 932 shift_jis, 936 gbk, 949 euc-kr, 950 big5, 10000 macintosh, 20866 koi8-r, " +
    "28605 iso-8859-15, 65001 utf-8",
);

function numbered(list: string): ReadonlyMap<number, string> {
  return new Map(
    list.split(", ").map((entry): [number, string] => {
      const [number, name = ""] = entry.split(" ");
      return [Number(number), name];
    }),
  );
}

/** Returns the code page of an \ansicpg number, as a name for TextDecoder; undefined if it is unknown. */
export function codePageOf(number: number): string | undefined {
  return number >= 1250 && number <= 1258 ? `windows-${number}` : CODE_PAGES.get(number);
}
