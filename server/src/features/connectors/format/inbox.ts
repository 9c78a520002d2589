/** Reads messages of a connected system: verifies their origin and returns the actions that they request. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { InboxAction } from '@offhook/contract/connectors.ts';
import { checkJson } from '../../../core/json-check.ts';
import type { Compiler, CustomerFields } from './compile.ts';
import { customerOf } from './customers.ts';
import type { ConnectorCustomer } from './customers.ts';
import type { ConnectorDocument } from './file.ts';
import type { Scope } from './names.ts';
import { fillText } from './template.ts';
import type { Filler, Template } from './template.ts';

type Verify =
  | {
      readonly kind: 'hmac';
      readonly header: string;
      readonly prefix: string;
      readonly encoding: 'hex' | 'base64';
    }
  | { readonly kind: 'header'; readonly header: string }
  | { readonly kind: 'basic'; readonly user: Template }
  | { readonly kind: 'body'; readonly token: Filler };
export interface CompiledInbox {
  readonly verify: Verify;
  /** Secret that a message must prove. */
  readonly secret: Template;
  readonly id: Filler | undefined;
  readonly on: readonly {
    readonly when: Filler | undefined;
    readonly does: InboxAction;
    readonly fields: Readonly<Record<string, Filler>>;
    readonly customer: CustomerFields;
  }[];
}
/** Action that a message requests. */
export type InboxWish =
  | { readonly does: 'call'; readonly person?: string; readonly user?: string; readonly number: string }
  | { readonly does: 'customer.changed'; readonly customer: ConnectorCustomer }
  | { readonly does: 'customer.gone'; readonly id: string }
  | { readonly does: 'sync' }
  | { readonly does: 'note'; readonly call: string; readonly text: string };
export interface InboxMessage {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly bytes: Buffer;
}
export type InboxRead =
  | { readonly kind: 'refused' }
  | { readonly kind: 'wrong'; readonly words: string }
  | { readonly kind: 'read'; readonly id: string; readonly wishes: readonly InboxWish[] };

export function compileInbox(
  inbox: ConnectorDocument['inbox'],
  shared: CustomerFields,
  compiler: Compiler,
): CompiledInbox | undefined {
  if (inbox === undefined) return undefined;
  const { verify, on } = inbox;
  const names = ['set', 'body'] as const;
  const at = ['inbox', 'verify'];
  const made = ((): Pick<CompiledInbox, 'verify' | 'secret'> => {
    if ('hmac' in verify) {
      const { header, prefix, encoding, secret } = verify.hmac;
      return {
        verify: { kind: 'hmac', header: header.toLowerCase(), prefix, encoding },
        secret: compiler.text([...at, 'hmac', 'secret'], secret, ['set']),
      };
    }
    if ('basic' in verify)
      return {
        verify: { kind: 'basic', user: compiler.text([...at, 'basic', 'user'], verify.basic.user, ['set']) },
        secret: compiler.text([...at, 'basic', 'password'], verify.basic.password, ['set']),
      };
    const secret = compiler.text([...at, 'value'], verify.value, ['set']);
    if ('header' in verify)
      return { verify: { kind: 'header', header: verify.header.toLowerCase() }, secret };
    return { verify: { kind: 'body', token: compiler.value([...at, 'body'], verify.body, names) }, secret };
  })();
  return {
    ...made,
    id: compiler.maybe(['inbox', 'id'], inbox.id, names),
    on: on.map((one, n) => {
      const path = ['inbox', 'on', n];
      const { when, do: does, ...rest } = one;
      const texts = Object.entries(rest).filter(([name]) => name !== 'customer');
      return {
        when: compiler.maybe([...path, 'when'], when, names),
        does,
        fields: Object.fromEntries(
          texts.map(([name, text]) => [name, compiler.value([...path, name], text, names)]),
        ),
        customer: compiler.ownCustomer(
          shared,
          [...path, 'customer'],
          'customer' in one ? one.customer : undefined,
        ),
      };
    }),
  };
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
/** Compares in constant time. */
const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const textOf = (value: unknown): string | null =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : null;

/** The parsed message; undefined if it is neither JSON nor a form. */
function bodyOf({ headers, bytes }: InboxMessage): unknown {
  const text = bytes.toString('utf8');
  if (/^application\/x-www-form-urlencoded/i.test(String(headers['content-type'] ?? '')))
    return Object.fromEntries(new URLSearchParams(text));
  try {
    checkJson(text);
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
function isProven(inbox: CompiledInbox, message: InboxMessage, scope: Scope): boolean {
  const { verify } = inbox;
  const secret = fillText(inbox.secret, scope) ?? '';
  if (secret === '') return false;
  const header = (name: string): string => {
    const value = message.headers[name];
    return typeof value === 'string' ? value : '';
  };
  switch (verify.kind) {
    case 'header':
      return same(header(verify.header), secret);
    case 'basic': {
      const user = fillText(verify.user, scope) ?? '';
      return same(header('authorization'), `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`);
    }
    case 'hmac': {
      const expected = createHmac('sha256', secret).update(message.bytes).digest(verify.encoding);
      return same(header(verify.header), verify.prefix + expected);
    }
    case 'body':
      return same(textOf(verify.token({ ...scope, body: bodyOf(message) })) ?? '', secret);
  }
}

/** Verifies a message and reads its actions, in the order of the file. */
export function readInbox(inbox: CompiledInbox, message: InboxMessage, settings: Scope): InboxRead {
  if (!isProven(inbox, message, settings)) return { kind: 'refused' };
  const body = bodyOf(message);
  if (body === undefined) return { kind: 'wrong', words: 'neither JSON nor a form' };
  const scope: Scope = { ...settings, body };
  const wishes: InboxWish[] = [];
  for (const { when, does, fields, customer } of inbox.on) {
    if (when && when(scope) !== true) continue;
    const field = (name: string): string => {
      const value = textOf(fields[name]?.(scope));
      if (value === null) throw new Error(`${does} has no ${name}`);
      return value;
    };
    try {
      if (does === 'call') {
        const by = 'user' in fields ? { user: field('user') } : { person: field('person') };
        wishes.push({ does, ...by, number: field('number') });
      } else if (does === 'note') wishes.push({ does, call: field('call'), text: field('text') });
      else if (does === 'customer.gone') wishes.push({ does, id: field('id') });
      else if (does === 'sync') wishes.push({ does });
      else {
        const read = customerOf(customer, fields['row']?.(scope), scope);
        if (read === null) throw new Error('the customer has no id or no name');
        wishes.push({ does, customer: read });
      }
    } catch (error) {
      return { kind: 'wrong', words: (error as Error).message };
    }
  }
  const id = textOf(inbox.id?.(scope)) ?? digest(message.bytes.toString('base64')).toString('base64url');
  return { kind: 'read', id: id.slice(0, 200), wishes };
}
