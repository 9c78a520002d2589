import { PUSH_KINDS } from './compile.ts';
import type {
  Call,
  CompiledAttach,
  CompiledAuth,
  CompiledPush,
  CompiledSearch,
  Compiler,
  ConnectorFile,
  Path,
  PushKind,
} from './compile.ts';
import type { ConnectorDocument } from './file.ts';
import { compileInbox } from './inbox.ts';
import type { Name } from './names.ts';

function compileAuth(auth: ConnectorDocument['auth'], compiler: Compiler): CompiledAuth {
  const text = (path: Path, value: string, names: readonly Name[] = ['set']) =>
    compiler.text(['auth', ...path], value, names);
  if (auth === undefined) return { kind: 'none' };
  if ('basic' in auth)
    return {
      kind: 'basic',
      user: text(['basic', 'user'], auth.basic.user),
      password: text(['basic', 'password'], auth.basic.password),
    };
  if ('bearer' in auth)
    return { kind: 'header', name: 'authorization', value: text(['bearer'], `Bearer ${auth.bearer}`) };
  if ('oauth2' in auth) {
    const { grant, scopes, send_client, send_token, params, ...texts } = auth.oauth2;
    const maybe = (name: 'authorize' | 'client_secret' | 'refresh_token') =>
      texts[name] === undefined ? undefined : text(['oauth2', name], texts[name]);
    return {
      kind: 'oauth2',
      grant,
      scopes,
      send_client,
      send_token,
      token: text(['oauth2', 'token'], texts.token),
      client_id: text(['oauth2', 'client_id'], texts.client_id),
      authorize: maybe('authorize'),
      client_secret: maybe('client_secret'),
      refresh_token: maybe('refresh_token'),
      params: Object.entries(params).map(
        ([name, value]) => [name, text(['oauth2', 'params', name], value)] as const,
      ),
    };
  }
  if ('exchange' in auth) {
    const { exchange, header, value } = auth;
    return {
      kind: 'exchange',
      request: compiler.request(['auth', 'exchange'], exchange, ['set']),
      token: compiler.value(['auth', 'exchange', 'token'], exchange.token, ['set', 'answer']),
      seconds: exchange.seconds,
      header,
      value: text(['value'], value, ['set', 'token']),
    };
  }
  if ('header' in auth)
    return { kind: 'header', name: auth.header.toLowerCase(), value: text(['value'], auth.value) };
  return { kind: 'query', name: auth.query, value: text(['value'], auth.value) };
}

function compilePush(push: ConnectorDocument['push'], compiler: Compiler): ConnectorFile['push'] {
  if (push === undefined) return undefined;
  const common_names = ['set', 'call', 'person', 'user'] as const;
  const whole: Partial<Record<PushKind, CompiledPush>> = {};
  for (const kind of PUSH_KINDS) {
    const own = push[kind];
    if (own === undefined) continue;
    const path = ['push', kind];
    const names = kind === 'ringing' ? common_names : ([...common_names, 'pushed'] as const);
    const { ringing: _r, answered: _a, ended: _e, transferred: _t, ...common } = push;
    const call = { ...common, ...own };
    if (common.body !== undefined || own.body !== undefined) call.body = { ...common.body, ...own.body };
    if (common.form !== undefined || own.form !== undefined) call.form = { ...common.form, ...own.form };
    whole[kind] = {
      ...compiler.request(path, call, names),
      when: compiler.maybe([...path, 'when'], own.when, names),
      reject: compiler.maybe([...path, 'reply', 'reject'], 'reply' in own ? own.reply?.reject : undefined, [
        'set',
        'answer',
      ]),
      id: compiler.maybe([...path, 'id'], 'id' in own ? own.id : undefined, ['set', 'answer']),
    };
  }
  return whole;
}

function compilePop(
  pop: ConnectorDocument['pop'],
  compiler: Compiler,
): Pick<ConnectorFile, 'pop' | 'server_pop'> {
  const url = typeof pop === 'object' ? pop.url : pop;
  const path = typeof pop === 'object' ? ['pop', 'url'] : ['pop'];
  const names = ['set', 'call', 'person', 'user', 'customer', 'pushed'] as const;
  const { show, hide, at = 'ringing' } = typeof pop === 'object' ? pop : {};
  return {
    pop: url === undefined ? undefined : compiler.address(path, url, ['set', 'customer', 'call']),
    server_pop: show && {
      at,
      show: compiler.request(['pop', 'show'], show, names),
      hide: hide && compiler.request(['pop', 'hide'], hide, names),
    },
  };
}

function compileEntry({ entry, zone }: ConnectorDocument, compiler: Compiler): ConnectorFile['entry'] {
  if (entry === undefined) return undefined;
  const names = ['set', 'call', 'customer', 'user', 'person'] as const;
  const known = [...names, 'entry'] as const;
  const timed: readonly Name[] = zone === undefined ? [] : ['zone'];
  const { create, update, remove, find } = entry;
  const answered = [...names, 'answer'] as const;
  return {
    when: compiler.maybe(['entry', 'when'], entry.when, names),
    create: {
      ...compiler.request(['entry', 'create'], create, [...names, ...timed]),
      id: compiler.maybe(['entry', 'create', 'id'], create.id, answered),
      exists: compiler.maybe(['entry', 'create', 'exists'], create.exists, answered),
    },
    update: update && {
      ...compiler.request(['entry', 'update'], update, [...known, ...timed]),
      id: compiler.maybe(['entry', 'update', 'id'], update.id, [...known, 'answer']),
    },
    remove: remove && compiler.request(['entry', 'remove'], remove, known),
    find: find && {
      ...compiler.request(['entry', 'find'], find, names),
      id: compiler.value(['entry', 'find', 'id'], find.id, answered),
    },
    attach: compileAttach(entry.attach, compiler),
  };
}

function compileAttach(
  attach: NonNullable<ConnectorDocument['entry']>['attach'],
  compiler: Compiler,
): CompiledAttach | undefined {
  if (attach === undefined) return undefined;
  const path = ['entry', 'attach'];
  const names = ['set', 'call', 'customer', 'entry', 'recording'] as const;
  const { find, remove } = attach;
  return {
    ...compiler.request(path, attach, names),
    when: compiler.maybe([...path, 'when'], attach.when, names),
    id: compiler.maybe([...path, 'id'], attach.id, [...names, 'answer']),
    find: find && {
      ...compiler.request([...path, 'find'], find, names),
      id: compiler.value([...path, 'find', 'id'], find.id, [...names, 'answer']),
    },
    remove: remove && compiler.request([...path, 'remove'], remove, [...names, 'attached']),
  };
}

/** Compiles all texts of a document; `compiler` collects the findings. */
export function compileDocument(document: ConnectorDocument, compiler: Compiler): ConnectorFile {
  const { users, lookup, create, sync, zone } = document;
  const shared = compiler.customer(['customer'], document.customer);
  const search = (
    path: Path,
    found: {
      readonly rows: string;
      readonly when?: string | undefined;
      readonly customer?: Readonly<Record<string, unknown>> | undefined;
    } & Call,
    names: readonly Name[],
  ): CompiledSearch => ({
    ...compiler.request(path, found, names),
    rows: compiler.value([...path, 'rows'], found.rows, [...names, 'answer']),
    when: compiler.maybe([...path, 'when'], found.when, [...names, 'row']),
    customer: compiler.ownCustomer(shared, [...path, 'customer'], found.customer),
  });
  const list = (
    path: Path,
    { page, pages }: NonNullable<ConnectorDocument['users']> | NonNullable<ConnectorDocument['sync']>,
  ) => ({ pages, page: compiler.maybe([...path, 'page'], page, ['set', 'page', 'first_page', 'answer']) });
  const byNumber = lookup?.number;
  const listed = sync && search(['sync'], sync, ['set', 'cursor', 'page', 'first_sync', 'first_page']);
  if (listed) compiler.wholeRows(['sync'], listed.customer, sync);
  return {
    document,
    base: compiler.text(['base'], document.base, ['set']),
    headers: compiler.headers([], document.headers, ['set']),
    auth: compileAuth(document.auth, compiler),
    fails: compiler.maybe(['fails'], document.fails, ['set', 'answer']),
    zone: zone && {
      ...compiler.request(['zone'], zone, ['set']),
      name: compiler.value(['zone', 'name'], zone.name, ['set', 'answer']),
    },
    check: {
      ...compiler.request(['check'], document.check, ['set']),
      holds: compiler.maybe(['check', 'holds'], document.check.holds, ['set', 'answer']),
    },
    users: users && {
      ...compiler.request(['users'], users, ['set', 'page', 'first_page']),
      ...list(['users'], users),
      rows: compiler.value(['users', 'rows'], users.rows, ['set', 'answer']),
      when: compiler.maybe(['users', 'when'], users.when, ['set', 'row']),
      id: compiler.value(['users', 'id'], users.id, ['set', 'row']),
      email: compiler.maybe(['users', 'email'], users.email, ['set', 'row']),
      name: compiler.maybe(['users', 'name'], users.name, ['set', 'row']),
    },
    lookup: byNumber && {
      ...search(['lookup', 'number'], byNumber, ['set', 'number']),
      formats: byNumber.formats,
      compare: byNumber.compare,
    },
    lookup_text: lookup?.text && search(['lookup', 'text'], lookup.text, ['set', 'text']),
    create: create && {
      ...compiler.request(['create'], create, ['set', 'new', 'user']),
      row: compiler.value(['create', 'row'], create.row, ['set', 'new', 'user', 'answer']),
      customer: compiler.ownCustomer(shared, ['create', 'customer'], create.customer),
    },
    entry: compileEntry(document, compiler),
    push: compilePush(document.push, compiler),
    ...compilePop(document.pop, compiler),
    inbox: compileInbox(document.inbox, shared, compiler),
    sync: listed && {
      ...listed,
      ...list(['sync'], sync),
      gone: compiler.maybe(['sync', 'gone'], sync.gone, ['set', 'row']),
      cursor: compiler.maybe(['sync', 'cursor'], sync.cursor, ['set', 'row']),
    },
  };
}
