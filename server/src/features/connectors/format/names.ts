/** Names that expressions read, with the type of each field. Answers of a system are `dyn`: their type is not known. */
export const NAMES = {
  /** Settings; the file itself declares the fields. */
  set: 'map<string, string>',
  number: 'string',
  text: 'string',
  /** Reply of a sign-in. */
  token: 'string',
  new: { name: 'string', e164: 'string' },
  customer: {
    id: 'string',
    kind: 'string',
    name: 'string',
    company: 'string',
    numbers: 'list<string>',
    emails: 'list<string>',
    owner: 'string',
    url: 'string',
  },
  user: { id: 'string', email: 'string', name: 'string' },
  person: { extension: 'string', name: 'string', email: 'string' },
  call: {
    id: 'string',
    direction: 'string',
    disposition: 'string',
    /** End of a live call; empty elsewhere. */
    ending: 'string',
    answered: 'bool',
    title: 'string',
    text: 'string',
    html: 'string',
    from: 'string',
    to: 'string',
    number: 'string',
    queue: 'string',
    note: 'string',
    result: 'string',
    recording_url: 'string',
    url: 'string',
    started_at: 'string',
    answered_at: 'string',
    ended_at: 'string',
    duration_seconds: 'int',
    talk_seconds: 'int',
    wait_seconds: 'int',
    revision: 'int',
  },
  /** IANA time zone of the system. */
  zone: 'string',
  entry: { id: 'string' },
  recording: {
    id: 'string',
    name: 'string',
    url: 'string',
    started_at: 'string',
    seconds: 'int',
    bytes: 'int',
    /** A mark instead of the audio, which is inserted while the body is sent (upload.ts). */
    base64: 'string',
  },
  attached: { id: 'string' },
  /** Id that the system gave a live call. */
  pushed: { id: 'string' },
  cursor: 'string',
  page: 'dyn',
  /** True while `cursor`, or `page`, has no value, because an expression cannot read a missing name. */
  first_sync: 'bool',
  first_page: 'bool',
  body: 'dyn',
  answer: 'dyn',
  row: 'dyn',
} as const;
export type Name = keyof typeof NAMES;
/** Names whose values come from outside and can have any size. */
export const UNTYPED: ReadonlySet<string> = new Set(['page', 'body', 'answer', 'row']);

type FieldOf<T> = T extends 'string'
  ? string
  : T extends 'int'
    ? bigint
    : T extends 'bool'
      ? boolean
      : readonly string[];
type ObjectOf<N extends Name> = { readonly [K in keyof (typeof NAMES)[N]]: FieldOf<(typeof NAMES)[N][K]> };
/** Values of the names while an expression runs; an expression that reads a missing name has no value. */
export interface Scope {
  readonly set?: Readonly<Record<string, string>>;
  readonly number?: string;
  readonly text?: string;
  readonly token?: string;
  readonly new?: ObjectOf<'new'>;
  readonly customer?: ObjectOf<'customer'>;
  readonly user?: ObjectOf<'user'>;
  readonly person?: ObjectOf<'person'>;
  readonly call?: ObjectOf<'call'>;
  readonly zone?: string;
  readonly entry?: ObjectOf<'entry'>;
  readonly recording?: ObjectOf<'recording'>;
  readonly attached?: ObjectOf<'attached'>;
  readonly pushed?: ObjectOf<'pushed'>;
  readonly cursor?: string;
  readonly page?: unknown;
  readonly first_sync?: boolean;
  readonly first_page?: boolean;
  readonly body?: unknown;
  readonly answer?: unknown;
  readonly row?: unknown;
  /** Receives the reason of each expression that gave no value. */
  readonly missed?: ((reason: string) => void) | undefined;
}
