import type { Scope } from '@offhook/contract/keys.ts';
import { ServiceError } from '../core/errors.ts';
import { say } from '../core/said.ts';
import type { CallControlFeature } from '../features/calls/feature.ts';
import type { ConnectorVerbs } from '../features/connectors/inbox.ts';
import type { Notes } from '../features/history/query/annotate.ts';
import type { LiveView } from '../ports/live.ts';
import type { Directory } from '../ports/directory.ts';
import type { Caller } from '../ports/http.ts';

const NEVER = 8_640_000_000_000_000;
/** Rights of a connector itself, as those of an API key with one scope. */
const connectorCaller = (name: string, scope: Scope): Caller => ({
  session_id: 0,
  person_id: 0,
  extension: '',
  username: name,
  level: 'supervisor',
  expires_at: NEVER,
  cookie: false,
  key: { id: 0, name, scopes: [scope], queues: null, extensions: null },
});

/** Verbs of a connected system: it calls with the rights of the person it names; the rest with those of the connector. */
export function createConnectorVerbs(parts: {
  readonly directory: Pick<Directory, 'people' | 'byExtension'>;
  readonly live: Pick<LiveView, 'call'>;
  readonly calls: Pick<CallControlFeature, 'hangup' | 'originate'>;
  readonly notes: Pick<Notes, 'add'>;
}): ConnectorVerbs {
  const { directory, live, calls, notes } = parts;
  return {
    async call(named, number, ip) {
      const email = named.toLowerCase();
      const person = named.includes('@')
        ? directory.people().find((one) => one.email?.toLowerCase() === email)
        : directory.byExtension(named);
      if (person === undefined || !person.active)
        throw new ServiceError('not_found', say`there is no person ${named}`);
      const { id, extension, username, level } = person;
      const caller: Caller = {
        session_id: 0,
        person_id: id,
        extension,
        username,
        level,
        expires_at: NEVER,
        cookie: false,
        key: null,
      };
      await calls.originate({ caller, ip }, { to: number });
    },
    async note(connector, conversation, text, ip) {
      if (text.length > 2_000)
        throw new ServiceError('invalid_request', 'body: a note has 2000 characters at most');
      const caller = connectorCaller(connector, 'history:write');
      await notes.add({ caller, ip }, conversation, text);
    },
    async reject(connector, id) {
      const call = live.call(id);
      // An answer may come late: a call that was answered meanwhile is not hung up.
      const talks = call?.legs.some((leg) => leg.extension !== null && leg.state !== 'alerting');
      if (call?.direction !== 'in' || talks === true) return false;
      const caller = connectorCaller(connector, 'calls:control');
      await calls.hangup({ caller, ip: null }, id, {});
      return true;
    },
  };
}
