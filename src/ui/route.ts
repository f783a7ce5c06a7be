/** The address of a view: the part behind #. */
import { useEffect, useState } from "preact/hooks";

export type Route = { view: string; params: URLSearchParams };

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
