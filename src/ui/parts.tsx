/** Small parts that the views share: loading, errors, dialogs, long lists. */
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CallError } from "./client.ts";

export type Loaded<T> = { value?: T; error?: Error; again: () => void };

/**
 * Loads a value, and loads it again when an input or `changed` changes. The last value stays until the answer. Ignores answers for earlier
 * inputs. Shows a late answer for an earlier `changed` until a newer one comes, because a slow broker may always answer late.
 */
export function useLoaded<T>(load: () => Promise<T>, inputs: readonly unknown[], changed?: unknown): Loaded<T> {
  const [state, setState] = useState<{ value?: T; error?: Error }>({});
  const [round, setRound] = useState(0);
  const numbers = useRef({ inputs: 0, asked: 0, shown: 0 });
  useEffect(() => () => void (numbers.current.inputs += 1), inputs);
  useEffect(() => {
    const asked = { inputs: numbers.current.inputs, number: ++numbers.current.asked };
    const show = (change: (last: { value?: T }) => { value?: T; error?: Error }): void => {
      if (asked.inputs !== numbers.current.inputs || asked.number < numbers.current.shown) return;
      numbers.current.shown = asked.number;
      setState(change);
    };
    load().then(
      (value) => show(() => ({ value })),
      (error: unknown) => show((last) => ({ ...last, error: error as Error })),
    );
  }, [...inputs, changed, round]);
  return { ...state, again: useCallback(() => setRound((last) => last + 1), []) };
}

/** Returns `value`, but changes it at most once per `everyMs`, because mining changes it a thousand times a second. */
export function useSlowly<T>(value: T, everyMs: number): T {
  const [shown, setShown] = useState(value);
  const changedMs = useRef(0);
  useEffect(() => {
    const change = () => {
      changedMs.current = performance.now();
      setShown(value);
    };
    const waitMs = changedMs.current === 0 ? 0 : changedMs.current + everyMs - performance.now();
    const timer = setTimeout(change, Math.max(waitMs, 0));
    return () => clearTimeout(timer);
  }, [value]);
  return shown;
}

export function Failure({ error }: { error: Error | undefined }) {
  if (error === undefined) return null;
  const hint = error instanceof CallError ? error.hint : "";
  return (
    <p class="failure" role="alert">
      {error.message}
      {hint === "" ? null : <code>{hint}</code>}
    </p>
  );
}

export function Heading({ children, aside }: { children: ComponentChildren; aside?: ComponentChildren }) {
  return (
    <header class="heading">
      <h2>{children}</h2>
      {aside === undefined ? null : <span class="quiet">{aside}</span>}
    </header>
  );
}

type DialogProps = { title: string; onClose: () => void; children: ComponentChildren };

/** Modal dialog: the browser keeps the focus in it, and Escape closes it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

type ActionProps = { run: () => Promise<unknown>; kind?: "main" | "danger"; children: ComponentChildren };

/** A button that waits for its action, and shows why the action failed. */
export function Action({ run, kind, children }: ActionProps) {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<Error>();
  const click = async () => {
    setRunning(true);
    setError(undefined);
    await run().catch(setError);
    setRunning(false);
  };
  return (
    <>
      <button type="button" class={kind} disabled={isRunning} onClick={() => void click()}>
        {children}
      </button>
      <Failure error={error} />
    </>
  );
}

const PAGE = 100;
const PAGES_KEPT = 20;
const AGAIN_MS = 2_000;
const ROWS_AROUND = 8;

type ListProps<T> = {
  label: string;
  rowHeight: number;
  load: (offset: number, limit: number) => Promise<{ rows: T[]; total: number }>;
  row: (item: T) => ComponentChildren;
  /** If one of the inputs changes, the visible rows are loaded again. To show another list, change the component's `key`. */
  inputs: readonly unknown[];
};

/** A list of any length, which loads only the pages with visible rows, one at a time, so that a quick scroll skips pages. */
export function LongList<T>({ label, rowHeight, load, row, inputs }: ListProps<T>) {
  const [pages, setPages] = useState(new Map<number, T[]>());
  const [total, setTotal] = useState<number>();
  const [error, setError] = useState<Error>();
  const [from, setFrom] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const wanted = useRef(new Set<number>());
  const isAsking = useRef(false);
  const [answers, setAnswers] = useState(0);
  const height = box.current?.clientHeight ?? 600;
  const first = Math.max(from - ROWS_AROUND, 0);
  const last = Math.min(first + Math.ceil(height / rowHeight) + 2 * ROWS_AROUND, total ?? 1);

  useEffect(() => {
    wanted.current.clear();
  }, inputs);
  useEffect(() => {
    if (isAsking.current) return;
    const visible = [Math.floor(first / PAGE), Math.floor(Math.max(last - 1, 0) / PAGE)];
    const page = visible.find((one) => !wanted.current.has(one));
    if (page === undefined) return;
    wanted.current.add(page);
    isAsking.current = true;
    const show = ({ rows, total: all }: { rows: T[]; total: number }): void => {
      setTotal(all);
      setError(undefined);
      setPages((known) => new Map([...[...known].slice(1 - PAGES_KEPT), [page, rows]]));
      for (const old of wanted.current) if (wanted.current.size > PAGES_KEPT) wanted.current.delete(old);
    };
    const next = (): void => {
      isAsking.current = false;
      setAnswers((count) => count + 1);
    };
    const failed = async (why: Error): Promise<void> => {
      setError(why);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      wanted.current.delete(page);
    };
    void load(page * PAGE, PAGE)
      .then(show, failed)
      .then(next);
  }, [first, last, answers, ...inputs]);

  const shown = Array.from({ length: Math.max(last - first, 0) }, (_, at) => first + at);
  const top = (at: number) => ({ top: `${at * rowHeight}px`, height: `${rowHeight}px` });
  return (
    <div
      class="long"
      style={total === undefined ? {} : { height: `min(70vh, ${Math.max(total, 1) * rowHeight + 2}px)` }}
      ref={box}
      tabIndex={0}
      onScroll={(event) => setFrom(Math.floor(event.currentTarget.scrollTop / rowHeight))}
    >
      <Failure error={error} />
      {total === 0 ? <p class="quiet pad">Nothing here yet.</p> : null}
      <ul aria-label={label} style={{ height: `${(total ?? 0) * rowHeight}px` }}>
        {shown.map((at) => {
          const item = pages.get(Math.floor(at / PAGE))?.[at % PAGE];
          return (
            <li key={at} style={top(at)} aria-setsize={total ?? -1} aria-posinset={at + 1}>
              {item === undefined ? <span class="quiet">…</span> : row(item)}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

type Route = { view: string; params: URLSearchParams };

export function href(view: string, params: Record<string, string | undefined> = {}): string {
  const given = Object.entries(params).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const query = new URLSearchParams(given).toString();
  return `#/${view}${query === "" ? "" : `?${query}`}`;
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const look = () => setHash(location.hash);
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  const [view = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { view, params: new URLSearchParams(query) };
}
