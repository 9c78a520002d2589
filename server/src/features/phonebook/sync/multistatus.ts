import { setImmediate as yieldLoop } from 'node:timers/promises';
import sax from 'sax';

const MAX_DEPTH = 32;
/** Limit of attributes of one element, because the parser compares each with all earlier ones. */
const MAX_ATTRIBUTES = 100;
/** Characters that are parsed before other work of the process goes on. */
const AT_ONCE = 16_384;
export const DAV = 'DAV:';
export const CARDDAV = 'urn:ietf:params:xml:ns:carddav';
export const CALENDARSERVER = 'http://calendarserver.org/ns/';

/** One member of a `multistatus` (RFC 4918). Names are `{namespace}local`. */
export interface DavResponse {
  href: string;
  /** Status of the member itself; null where only its properties have one. */
  status: number | null;
  /** Text of the properties that the server has. */
  props: Map<string, string>;
  /** Names of the elements in its `resourcetype`. */
  types: Set<string>;
}
export interface Multistatus {
  readonly responses: DavResponse[];
  /** Of a `sync-collection` report (RFC 6578). */
  token: string | null;
}
const dav = (name: string): string => `{${DAV}}${name}`;
const statusOf = (text: string): number | null => {
  const status = /^HTTP\/\S{1,8} (\d{3})/.exec(text.trim())?.[1];
  return status === undefined ? null : Number(status);
};

/** Reads a `multistatus`; null for what is none. Entities of a document type are unknown to the parser, so none expands. */
export async function readMultistatus(text: string): Promise<Multistatus | null> {
  const reader = new Reader();
  try {
    for (let at = 0; at < text.length; at += AT_ONCE) {
      reader.write(text.slice(at, at + AT_ONCE));
      await yieldLoop();
    }
    return reader.end();
  } catch {
    return null;
  }
}

class Reader {
  readonly #parser = sax.parser(true, { xmlns: true, position: false });
  readonly #path: string[] = [];
  readonly #found: Multistatus = { responses: [], token: null };
  #response: DavResponse = { href: '', status: null, props: new Map(), types: new Set() };
  /** Properties of a `propstat` whose status is not read yet. */
  #props = new Map<string, string>();
  #propStatus: number | null = null;
  #text: string[] = [];
  constructor() {
    const parser = this.#parser;
    parser.onopentag = (tag) =>
      this.#open(`{${(tag as sax.QualifiedTag).uri}}${(tag as sax.QualifiedTag).local}`);
    parser.onclosetag = () => this.#close();
    parser.ontext = (text) => void this.#text.push(text);
    parser.oncdata = (text) => void this.#text.push(text);
    parser.onerror = (error) => {
      throw error;
    };
  }
  write(text: string): void {
    this.#parser.write(text);
    const { attribList } = this.#parser as unknown as { readonly attribList: readonly unknown[] };
    if (attribList.length > MAX_ATTRIBUTES) throw new Error('too many attributes');
  }
  end(): Multistatus {
    this.#parser.close();
    return this.#found;
  }
  #open(name: string): void {
    const path = this.#path;
    if (path.length === 0 && name !== dav('multistatus')) throw new Error('not a multistatus document');
    if (path.length === MAX_DEPTH) throw new Error('nested too deeply');
    if (path.at(-1) === dav('resourcetype')) this.#response.types.add(name);
    path.push(name);
    this.#text = [];
    if (path.length !== 2 && path.length !== 3) return;
    if (name === dav('response'))
      this.#response = { href: '', status: null, props: new Map(), types: new Set() };
    else if (name === dav('propstat')) [this.#props, this.#propStatus] = [new Map(), null];
  }
  #close(): void {
    const name = this.#path.pop()!;
    const parent = this.#path.at(-1);
    const text = this.#text.join('');
    this.#text = [];
    const response = this.#response;
    if (parent === dav('response') && name === dav('href')) response.href = text.trim();
    else if (parent === dav('response') && name === dav('status')) response.status = statusOf(text);
    else if (parent === dav('propstat') && name === dav('status')) this.#propStatus = statusOf(text);
    else if (parent === dav('prop')) this.#props.set(name, text);
    else if (name === dav('propstat') && (this.#propStatus ?? 200) === 200)
      for (const [prop, value] of this.#props) response.props.set(prop, value);
    else if (parent === dav('multistatus') && name === dav('response')) this.#found.responses.push(response);
    else if (parent === dav('multistatus') && name === dav('sync-token')) this.#found.token = text.trim();
  }
}
