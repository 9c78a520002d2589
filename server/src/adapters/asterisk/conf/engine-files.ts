/** The engine's own frame: folders, modules, log, call records, tones. Nothing of it depends on the site. */
import { dataDir, logDir } from './instance.ts';
import type { AsteriskProgram, Instance } from './instance.ts';
import { CEL_APPS, CEL_EVENTS, CEL_FIELDS } from './cel-format.ts';
import { conf, filePath, joined, slug } from './text.ts';
import type { ConfText } from './text.ts';

const words = (list: readonly string[]): ConfText =>
  joined(
    list.map((w) => fixed(w)),
    ',',
  );
/** A word of our own tables in this folder. */
const fixed = (w: string): ConfText => slug(w.toLowerCase(), w);

export function asteriskConf(instance: Instance, program: AsteriskProgram): ConfText {
  const folder = filePath(instance.folder, 'the engine folder');
  const modules =
    program.modules_dir === null
      ? conf``
      : conf`astmoddir => ${filePath(program.modules_dir, 'the modules folder')}
`;
  return conf`
[directories]
astetcdir => ${folder}/etc
${modules}astvarlibdir => ${folder}/lib
astdbdir => ${folder}/lib
astkeydir => ${folder}/lib
astagidir => ${folder}/lib/agi-bin
astcachedir => ${folder}/lib/cache
astdatadir => ${filePath(dataDir(instance), 'the data folder')}
astspooldir => ${folder}/spool
astrundir => ${filePath(instance.run_dir, 'the run folder')}
astlogdir => ${filePath(logDir(instance), 'the log folder')}

[options]
verbose = 0
debug = 0
nocolor = yes
hideconnect = yes
defaultlanguage = en
live_dangerously = no
execincludes = no
internal_timing = yes

[files]
astctlpermissions = 0600
`;
}

/**
 * One log, on standard output, which the supervisor keeps within bounds; a log file of Asterisk would grow without limit. The
 * queue log is off for the same reason: its contents are also in the events and the call records.
 */
export const loggerConf = conf`
[general]
dateformat = %F %T.%3q
queue_log = no

[logfiles]
console => notice,warning,error
`;

export const celConf = conf`
[general]
enable = yes
apps = ${words(CEL_APPS)}
events = ${joined(
  CEL_EVENTS.map((e) => fixed(e)),
  ',',
)}
`;

export const celCustomConf = conf`
[offhook.csv]
format = dsv
separator_character = ,
quote_character = "
quote_escape_character = "
quoting_method = all
fields = ${words(CEL_FIELDS)}
`;

/** Call detail records are off: the durable record is the CEL, and a CDR of two channels has less content for the same cost. */
export const cdrConf = conf`
[general]
enable = no
`;

export const indicationsConf = conf`
[general]
country = us

[us]
description = United States / North America
ringcadence = 2000,4000
dial = 350+440
busy = 480+620/500,0/500
ring = 440+480/2000,0/4000
congestion = 480+620/250,0/250
callwaiting = 440/300,0/10000
dialrecall = !350+440/100,!0/100,!350+440/100,!0/100,!350+440/100,!0/100,350+440
record = 1400/500,0/15000
info = !950/330,!1400/330,!1800/330,0
stutter = !350+440/100,!0/100,!350+440/100,!0/100,!350+440/100,!0/100,!350+440/100,!0/100,!350+440/100,!0/100,!350+440/100,!0/100,350+440
`;

/** Files the core insists on finding; their defaults serve. */
export const bareFiles = {
  'acl.conf': conf``,
  'ccss.conf': conf`
[general]
`,
  'pjproject.conf': conf``,
  'pjsip_notify.conf': conf``,
  'queuerules.conf': conf``,
  'stasis.conf': conf``,
  'udptl.conf': conf`
[general]
`,
} as const;
