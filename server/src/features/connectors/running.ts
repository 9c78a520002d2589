import { messageOf } from '../../core/errors.ts';
import { untilDone } from '../../core/retry.ts';
import { Budget } from '../../outbound/budget.ts';
import type { Transport } from '../../outbound/transport.ts';
import type { Clock } from '../../ports/clock.ts';
import { loadConnector } from './format/load.ts';
import type { ConnectorFile } from './format/load.ts';
import type { TokenStore } from './format/oauth.ts';
import { openConnector } from './format/session.ts';
import type { ConnectorSession } from './format/session.ts';
import type { ConnectorFolders } from './files.ts';
import type { ConnectorCustomer } from './format/customers.ts';
import { EntryKeeper } from './keeper.ts';
import type { KeeperDeps } from './keeper.ts';
import type { PushKind } from './format/compile.ts';
import type { LiveKind } from './live-calls.ts';
import { Pusher } from './pusher.ts';
import type { PhonebookWriter } from './phonebook-writer.ts';
import { budgeted } from './ranked.ts';
import type { ConnectorRow } from './store.ts';
import { CustomerSyncer } from './syncer.ts';

/** An open connector. */
export interface Running {
  readonly row: ConnectorRow;
  readonly file: ConnectorFile | null;
  /** Null if the file or a setting is invalid; `words` is the reason. */
  readonly session: ConnectorSession | null;
  readonly words: string | null;
  /** Null if the connector is disabled or makes no entries. */
  readonly keeper: EntryKeeper | null;
  /** Null if the connector is disabled or its file lists no customers. */
  readonly syncer: CustomerSyncer | null;
  /** Null if the connector is disabled or its file pushes nothing. */
  readonly pusher: Pusher | null;
  close(grace: AbortSignal): Promise<void>;
}
export interface OpenDeps extends KeeperDeps {
  readonly transport: Transport;
  readonly folders: ConnectorFolders;
  readonly clock: Clock;
  readonly phonebook: PhonebookWriter;
  readonly siteZone?: string | undefined;
  readonly reject: (connector: number, call: string) => void;
  /** Customer of a system with this number; null if the system knows none or does not answer in time. */
  readonly customerOf: (connector: number, number: string) => Promise<ConnectorCustomer | null>;
}

/** The file of a connector, or the first fault in it. */
export async function fileOf(
  folders: ConnectorFolders,
  { file, source }: Pick<ConnectorRow, 'file' | 'source'>,
): Promise<{ readonly file: ConnectorFile } | { readonly file: null; readonly words: string }> {
  const text = source ?? (await folders.read(file!));
  if (text === null) return { file: null, words: `there is no connector file ${file}` };
  const loaded = loadConnector(text);
  if (loaded.file !== null) return { file: loaded.file };
  const { path, line, reason } = loaded.findings[0]!;
  return {
    file: null,
    words: `${path === '' ? 'the file' : path}${line === null ? '' : ` (line ${line})`}: ${reason}`,
  };
}

/** Stores the newest refresh token of a connector, because a used token may be void. */
function tokensOf(connector: number, { store, clock, log }: OpenDeps, signal: AbortSignal): TokenStore {
  let newest: string | null = null;
  return {
    read: async () => newest ?? (await store.token(connector)),
    async write(token) {
      newest = token;
      await untilDone('storing a refresh token', () => store.putToken(connector, token), {
        clock,
        log,
        signal,
      });
    },
  };
}
/** Resolves with `work`, or when `signal` is aborted. */
const untilAborted = (work: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    void work.then(resolve);
  });
/** Opens a connector and begins to deliver if it is enabled. */
export async function openRunning(row: ConnectorRow, deps: OpenDeps): Promise<Running> {
  const nothing = { session: null, keeper: null, syncer: null, pusher: null, close: () => Promise.resolve() };
  const loaded = await fileOf(deps.folders, row);
  if (loaded.file === null) return { row, ...nothing, ...loaded };
  const { file } = loaded;
  const { day, ...limits } = file.document.limits;
  const budget = new Budget({ ...limits, day: day ?? null }, deps.clock);
  const log = deps.log.child({ connector: row.id });
  const closed = new AbortController();
  try {
    const session = openConnector(
      file,
      { ...row.settings, ...row.secrets },
      {
        send: budgeted(deps.transport, budget),
        clock: deps.clock,
        tokens: tokensOf(row.id, deps, closed.signal),
        missed: (reason) => log.debug({ reason }, 'an expression gave no value'),
        siteZone: deps.siteZone,
        warn: (words) => log.warn({}, words),
      },
    );
    const keeper =
      row.enabled && session.entry !== null
        ? new EntryKeeper(row, session, session.entry, { ...deps, log, at_once: limits.at_once })
        : null;
    const syncer =
      row.enabled && session.sync !== null
        ? new CustomerSyncer(row.id, session.sync, { ...deps, log })
        : null;
    const pops: LiveKind[] =
      session.pops === null ? [] : [session.pops === 'ringing' ? 'rings' : 'talks', 'left'];
    const kinds = [...(Object.keys(file.push ?? {}) as PushKind[]), ...pops];
    const pusher =
      row.enabled && kinds.length > 0
        ? new Pusher(session, kinds, {
            ...deps,
            userOf: (person, signal) => deps.people.userOf(row.id, session, person, signal),
            customerOf: (number) => deps.customerOf(row.id, number),
            reject: (call) => deps.reject(row.id, call),
          })
        : null;
    return {
      row,
      file,
      session,
      words: null,
      keeper,
      syncer,
      pusher,
      async close(grace) {
        await Promise.all([keeper?.close(grace), syncer?.close(grace), pusher?.close()]);
        budget.close();
        await untilAborted(session.idle(), grace);
        closed.abort();
      },
    };
  } catch (error) {
    return { row, ...nothing, file, words: messageOf(error) };
  }
}
