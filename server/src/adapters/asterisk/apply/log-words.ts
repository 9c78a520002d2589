/** Selects the lines of an engine's log that concern its configuration. */
import { readFile } from 'node:fs/promises';
import type { EngineProblem } from '../../../ports/engine-config.ts';

const LINE = /^\[[^\]]+\] (WARNING|ERROR|NOTICE)\[\d+\](?:\[[^\]]*\])?: ([\w./-]+):\d+ (\w+): (.*)$/;
/** Messages of an engine with a faultless configuration. */
const STANDING: readonly RegExp[] = [
  /^taskprocessor_push: Taskprocessor '.*' queue reached \d+ scheduled tasks/,
  /is not reloadable, maintaining previous values/,
  /^sip_transport_apply/,
  /' is not fully reloadable/,
];
/**
 * Messages of a throw-away engine only: without a socket it has no address for a registration, and it looks up no name of a
 * trunk. A real fault of a registration is logged in an earlier line.
 */
const SHADOW: readonly RegExp[] = [
  /^Could not create an object of type 'registration' with id/,
  /\((?:PJSIP_EUNSUPTRANSPORT|PJLIB_UTIL_EDNSNOANSWERREC)\)' sending OPTIONS request to endpoint/,
];
/** Source files whose messages in a live engine concern only its configuration. */
const READERS: ReadonlySet<string> = new Set([
  'config.c',
  'sorcery.c',
  'res_sorcery_config.c',
  'pbx_config.c',
  'loader.c',
  'res_musiconhold.c',
  'res_parking.c',
  'conf_config_parser.c',
  'features_config.c',
  'res_pjsip_endpoint_identifier_ip.c',
  'pjsip_configuration.c',
  'location.c',
  'named_acl.c',
  'extconf.c',
]);
const READER_FAMILY = /^(?:parking|config)_[a-z_]+\.c$/;
/**
 * Source files whose messages concern calls too. Others are ignored: they contain texts of strangers and phones, which must not
 * roll a configuration back.
 */
const ALSO_READERS =
  /^(?:app_queue|app_voicemail|app_confbridge|cel|cel_custom|logger|features|indications|res_indications|res_pjsip_outbound_registration)\.c$/;
/** This module runs calls and keeps the dialplan. */
const DIALPLAN_WORDS = /Unable to register extension|Unable to add|already in use/;
const LIVE_WORDS =
  /isn't a valid|is not a valid|Unknown keyword|Unable to register extension|Unable to add|parse error|invalid|duplicate|already in use|Retaining existing configuration|Could not create an object|No closing|No '=' |not supported|does not exist/i;
/** Object names between quotes, after their kind. */
const OBJECT =
  /(?:object of type '(\w+)' with id '([^']+)'|^(?:.*)\b(endpoint|aor|auth|queue|extension|context|registration|identify) '([^']+)')/;
const FILE = /\b([a-z][a-z0-9_]{0,40}\.conf)\b/;

/** The problem in a line, or null. */
export function problemOfLine(line: string, engine: 'shadow' | 'live'): EngineProblem | null {
  const found = LINE.exec(line);
  if (found === null) return null;
  const [, level, source, , said] = found as unknown as [string, string, string, string, string];
  const words = said.trim();
  const whole = `${found[3]}: ${words}`;
  if (level === 'NOTICE' && !words.startsWith('Retaining existing configuration')) return null;
  if (STANDING.some((noise) => noise.test(whole))) return null;
  if (engine === 'shadow') {
    if (SHADOW.some((noise) => noise.test(words))) return null;
  } else {
    const reader = source.split('/').at(-1)!;
    const also = ALSO_READERS.test(reader) && LIVE_WORDS.test(words);
    const reads = READERS.has(reader) || READER_FAMILY.test(reader);
    if (!reads && !also && !(reader === 'pbx.c' && DIALPLAN_WORDS.test(words))) return null;
  }
  const object = OBJECT.exec(words);
  return {
    object: object === null ? null : `${object[1] ?? object[3]} ${object[2] ?? object[4]}`,
    file: FILE.exec(words)?.[1] ?? null,
    words,
  };
}

/** Problems in a log from a byte offset on; `at` is the current end. */
export async function readProblems(
  file: string,
  from: number,
  engine: 'shadow' | 'live',
): Promise<{ readonly problems: readonly EngineProblem[]; readonly at: number }> {
  const bytes = await readFile(file).catch(() => Buffer.alloc(0));
  // A shorter log was trimmed meanwhile; all of the remaining text may be new.
  const start = bytes.length < from ? 0 : from;
  const problems = new Map<string, EngineProblem>();
  for (const line of bytes.subarray(start).toString('utf8').split('\n')) {
    const problem = problemOfLine(line, engine);
    if (problem !== null && !problems.has(problem.words)) problems.set(problem.words, problem);
  }
  return { problems: [...problems.values()], at: bytes.length };
}
