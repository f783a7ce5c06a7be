/**
 * Sends this process's requests to https addresses through a proxy; http and sockets stay direct, since those are the
 * user's own Chroma servers and brokers. Called once by the broker's entry point. Source: Node's
 * http.setGlobalProxyFromEnv, 24.14.
 */
import http from "node:http";

export type ProxySettings = Readonly<{
  /** http://HOST:PORT */
  https: string;
  /** Hosts that are reached directly, as NO_PROXY spells them. */
  except: string | undefined;
}>;

/** A Node that is too old for it connects directly. */
export function useProxy({ https, except }: ProxySettings): void {
  const { setGlobalProxyFromEnv } = http as Partial<typeof http>;
  setGlobalProxyFromEnv?.({ https_proxy: https, ...(except !== undefined && { no_proxy: except }) });
}
