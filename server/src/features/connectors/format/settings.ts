import type { ConnectorDocument } from './file.ts';

const MAX_SETTING = 2_000;
/** A fault in the settings of a connector. */
export interface SettingFinding {
  readonly setting: string;
  readonly reason: string;
}

/** Characters of a list such as `a-z0-9-`; a hyphen at its end means a hyphen. */
function lettersOf(pattern: string): ReadonlySet<string> {
  const letters = new Set<string>();
  for (let at = 0; at < pattern.length; at++) {
    const from = pattern[at]!;
    const to = pattern[at + 1] === '-' ? pattern[at + 2] : undefined;
    if (to === undefined) {
      letters.add(from);
      continue;
    }
    for (let code = from.charCodeAt(0); code <= to.charCodeAt(0); code++)
      letters.add(String.fromCharCode(code));
    at += 2;
  }
  return letters;
}
function wrongWith(value: string, setting: ConnectorDocument['settings'][string]): string | null {
  if (value.length > MAX_SETTING) return `has more than ${MAX_SETTING} characters`;
  if (/\p{Cc}/u.test(value)) return 'must not contain control characters';
  if (setting.url && !(URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)))
    return 'is not an http(s) address';
  if (setting.url && /[?#]/.test(value)) return 'is an address without ? and #';
  if (setting.pattern === undefined) return null;
  const letters = lettersOf(setting.pattern);
  return Array.from(value).every((letter) => letters.has(letter))
    ? null
    : `may only consist of ${setting.pattern}`;
}

/** Values of all settings of a file, with findings about missing and invalid ones. */
export function readSettings(
  { settings }: ConnectorDocument,
  given: Readonly<Record<string, string>>,
): { readonly values: Readonly<Record<string, string>>; readonly findings: readonly SettingFinding[] } {
  const findings: SettingFinding[] = [];
  const values: Record<string, string> = {};
  for (const [name, setting] of Object.entries(settings)) {
    // A setting may have the name of an inherited member, such as `constructor`.
    const value = Object.hasOwn(given, name) ? given[name] : setting.initial;
    const reason = value === undefined || value === '' ? 'is missing' : wrongWith(value, setting);
    if (reason !== null) findings.push({ setting: name, reason });
    else values[name] = setting.url ? value!.replace(/\/$/, '') : value!;
  }
  for (const name of Object.keys(given))
    if (!Object.hasOwn(settings, name))
      findings.push({ setting: name, reason: 'is not a setting of this file' });
  return { values, findings };
}

/** Number of tokens that stay hidden: those of the last renewals, which requests may still carry. */
const KEPT_TOKENS = 10;
// Shorter secrets would hide ordinary text.
const spellingsOf = (secret: string): readonly string[] =>
  secret.length < 4
    ? []
    : [
        secret,
        encodeURIComponent(secret),
        JSON.stringify(secret).slice(1, -1),
        new URLSearchParams({ s: secret }).toString().slice(2),
      ];

/** Texts to hide in traces, logs and errors. */
export class Secrets {
  readonly #settings = new Set<string>();
  /** The newest last. */
  readonly #tokens = new Set<string>();
  /** Texts to replace, the longest first, because a secret may be part of another; null after a change of them. */
  #texts: readonly string[] | null = null;
  /** Hides a secret of the settings for the life of the session. */
  add(secret: string): void {
    for (const text of spellingsOf(secret)) this.#settings.add(text);
    this.#texts = null;
  }
  /** Hides a token until `KEPT_TOKENS` newer ones were added, because a session renews its tokens without end. */
  addToken(token: string): void {
    this.#tokens.delete(token);
    this.#tokens.add(token);
    for (const oldest of this.#tokens) {
      if (this.#tokens.size <= KEPT_TOKENS) break;
      this.#tokens.delete(oldest);
    }
    this.#texts = null;
  }
  hide(text: string): string {
    this.#texts ??= [...new Set([...this.#settings, ...[...this.#tokens].flatMap(spellingsOf)])].toSorted(
      (a, b) => b.length - a.length,
    );
    let hidden = text;
    for (const secret of this.#texts) hidden = hidden.replaceAll(secret, '…');
    return hidden;
  }
}
