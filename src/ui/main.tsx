/** The page of `palace ui`: signs in, listens for changes of the status, and shows the view that the address names. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { AddNote } from "./change.tsx";
import icon from "./icon.svg";
import { hasLink, listen, type News, onSignedOut, type Session, signIn } from "./client.ts";
import { Care } from "./care.tsx";
import { Diary } from "./diary.tsx";
import { LastDone } from "./done.tsx";
import { DrawerView } from "./drawer.tsx";
import { Facts } from "./facts.tsx";
import { History } from "./history.tsx";
import { Home } from "./home.tsx";
import { PlaceView } from "./place.tsx";
import { href, useRoute, useSlowly } from "./parts.tsx";
import { Search } from "./search.tsx";
import { Turns } from "./turns.tsx";

/** Views in the head of the page. `for`: the roles that may load the view's data. */
const VIEWS = [
  { to: "", name: "Home", for: ["reader", "agent", "admin"] },
  { to: "search", name: "Search", for: ["reader", "agent", "admin"] },
  { to: "turns", name: "Turns", for: ["reader", "agent", "admin"] },
  { to: "facts", name: "Facts", for: ["reader", "agent", "admin"] },
  { to: "diary", name: "Diary", for: ["reader", "agent", "admin"] },
  { to: "history", name: "History", for: ["admin"] },
  { to: "care", name: "Care", for: ["agent", "admin"] },
];

function Page({ session }: { session: Session }) {
  const [news, setNews] = useState<News>();
  const [isAdding, setAdding] = useState(false);
  const [isSignedOut, setSignedOut] = useState(false);
  useEffect(() => {
    onSignedOut(() => setSignedOut(true));
    void listen(setNews);
  }, []);
  const { view, params } = useRoute();
  useEffect(() => scrollTo(0, 0), [view, params.toString()]);
  if (isSignedOut) return <SignedOut />;
  return (
    <>
      <a class="skip" href="#content" onClick={toContent}>
        To the content
      </a>
      <Top view={view} isLive={news !== undefined} role={session.role} onAdd={() => setAdding(true)} />
      <LastDone />
      <main id="content" tabIndex={-1}>
        <View view={view} params={params} news={news} session={session} />
      </main>
      {isAdding ? <AddNote wing={params.get("wing") ?? ""} onClose={() => setAdding(false)} /> : null}
    </>
  );
}

type ViewProps = { view: string; params: URLSearchParams; news: News | undefined; session: Session };

/** Interval at which a view loads its data again while others write, ms. */
const REFRESH_MS = 2_000;

function View({ view, params, news, session }: ViewProps) {
  const changed = useSlowly(news?.queue.acknowledged ?? 0, REFRESH_MS);
  const param = (name: string) => params.get(name) ?? undefined;
  const isOwner = session.role === "admin";
  if (view === "place") return <PlaceView wing={param("wing") ?? ""} room={param("room")} changed={changed} />;
  // A new key makes a new view, which has no dialogs of the last drawer and no hits of the last question.
  const key = params.toString();
  if (view === "drawer") return <DrawerView key={key} id={param("id") ?? ""} role={session.role} changed={changed} />;
  if (view === "search") return <Search key={key} query={param("q") ?? ""} wing={param("wing")} room={param("room")} />;
  if (view === "facts") return <Facts entity={param("entity")} changed={changed} />;
  if (view === "turns") return <Turns conversation={param("conversation")} isOwner={isOwner} changed={changed} />;
  if (view === "diary") return <Diary changed={changed} />;
  if (view === "care" && session.role !== "reader") return <Care news={news} role={session.role} changed={changed} />;
  if (view === "history" && isOwner) return <History agent={param("agent")} changed={changed} />;
  return <Home news={news} changed={changed} isOwner={isOwner} />;
}

type TopProps = { view: string; isLive: boolean; role: Session["role"]; onAdd: () => void };

function Top({ view, isLive, role, onAdd }: TopProps) {
  return (
    <header class="top">
      <a class="name" href={href("")}>
        <img src={icon} alt="" width="22" height="22" /> Palace
      </a>
      <nav aria-label="Views">
        {VIEWS.filter((one) => one.for.includes(role)).map(({ to, name }) => (
          <a key={to} href={href(to)} aria-current={view === to ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {role === "reader" ? null : (
        <button type="button" class="add" onClick={onAdd}>
          Add a note
        </button>
      )}
      <span class="live" role="status">
        <i class={isLive ? "on" : "off"} aria-hidden="true" /> {isLive ? "live" : "waiting"}
        {role === "admin" ? "" : `, as ${role}`}
      </span>
    </header>
  );
}

/** Moves the focus to the page's content. A link cannot do this, because the part of the address after # names the view. */
function toContent(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function SignedOut() {
  return (
    <main class="gate">
      <img src={icon} alt="" width="56" height="56" />
      <h1>This page needs a link</h1>
      <p>
        Type <code>palace ui</code> in a terminal of the memory's owner. It opens this page with a link that works once.
      </p>
    </main>
  );
}

// A new link in the address of an open page changes only the part after #, so the browser does not load the page again.
addEventListener("hashchange", () => {
  if (hasLink()) location.reload();
});
const session = await signIn().catch(() => undefined);
const root = document.getElementById("page");
if (root !== null) render(session === undefined ? <SignedOut /> : <Page session={session} />, root);
