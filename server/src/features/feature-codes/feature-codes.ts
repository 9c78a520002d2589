import type { FeatureCode } from '../../ports/site.ts';

/** All feature codes: the source of the dialplan, the table in docs/feature-codes.md and the list in the console. */
export const FEATURE_CODES: readonly FeatureCode[] = [
  {
    id: 'agent.pause',
    patterns: ['*22', '_*22Z', '_*22ZX'],
    title: 'Pause',
    about: 'Pauses you in every queue you are in. `*22` gives the first reason, `*22<n>` the n-th.',
    does: { action: 'pause' },
  },
  {
    id: 'agent.unpause',
    patterns: ['*23'],
    title: 'Ready',
    about: 'Ends your pause in every queue you are in.',
    does: { action: 'unpause' },
  },
  {
    id: 'agent.login',
    patterns: ['*81', '_*81X.'],
    title: 'Sign in to queues',
    about: 'Signs you in to all your queues; `*81<queue number>` to that one.',
    does: { action: 'log_in' },
  },
  {
    id: 'agent.logout',
    patterns: ['*80', '_*80X.'],
    title: 'Sign out of queues',
    about:
      'Signs you out of all your queues; `*80<queue number>` of that one. A queue you belong to permanently refuses.',
    does: { action: 'log_out' },
  },
  {
    id: 'pickup.group',
    patterns: ['*8'],
    title: 'Pick up',
    about: "Answers a colleague's ringing call in your pick-up group.",
    does: { action: 'pick_up_group' },
  },
  {
    id: 'pickup.extension',
    patterns: ['_**X.'],
    title: 'Pick up an extension',
    about:
      '`**<extension>` answers the call that rings there. It must be of your pick-up group, unless you are a supervisor.',
    does: { action: 'pick_up_extension' },
  },
  {
    id: 'caller.block',
    patterns: ['*60'],
    title: 'Block the last caller',
    about:
      'Blocks the number outside that rang your phone last, for the whole site, and speaks it. Agents and up; a caller that a rule allows is refused.',
    does: { action: 'block_caller' },
  },
  {
    id: 'phone.sign_in',
    patterns: ['*76', '_*76X.'],
    title: 'Sign in at a shared phone',
    about:
      'Makes a shared phone yours: `*76` asks for your extension and the PIN of your mailbox, `*76<extension>` for the PIN.',
    does: { action: 'sign_in' },
  },
  {
    id: 'phone.sign_out',
    patterns: ['*77'],
    title: 'Sign out of a shared phone',
    about: 'Ends `*76`.',
    does: { action: 'sign_out' },
  },
  {
    id: 'night.switch',
    patterns: ['_*28X.'],
    title: 'Night switch',
    about:
      '`*28<number of a time condition>` switches it to the other side than now, and back to its hours when dialled again. Only extensions that the time condition names.',
    does: { action: 'night_switch' },
  },
  {
    id: 'dnd.on',
    patterns: ['*78'],
    title: 'Do not disturb',
    about: 'Your devices do not ring; callers find you busy, and queues leave you out.',
    does: { action: 'set', setting: 'dnd' },
  },
  {
    id: 'dnd.off',
    patterns: ['*79'],
    title: 'Take calls again',
    about: 'Ends `*78`.',
    does: { action: 'clear', setting: 'dnd' },
  },
  {
    id: 'forward.on',
    patterns: ['_*72X.'],
    title: 'Forward',
    about:
      '`*72<number>` leads your calls to that number instead of ringing your devices; calls of a queue still ring them.',
    does: { action: 'set', setting: 'forward' },
  },
  {
    id: 'forward.off',
    patterns: ['*73'],
    title: 'Do not forward',
    about: 'Lets your devices ring again.',
    does: { action: 'clear', setting: 'forward' },
  },
  {
    id: 'forward_busy.on',
    patterns: ['_*90X.'],
    title: 'Forward when busy',
    about: '`*90<number>` leads a call there when you are busy, refuse it or do not want to be disturbed.',
    does: { action: 'set', setting: 'forward_busy' },
  },
  {
    id: 'forward_busy.off',
    patterns: ['*91'],
    title: 'Do not forward when busy',
    about: 'A call that finds you busy is no longer led elsewhere.',
    does: { action: 'clear', setting: 'forward_busy' },
  },
  {
    id: 'forward_no_answer.on',
    patterns: ['_*92X.'],
    title: 'Forward when unanswered',
    about: '`*92<number>` leads a call there that nobody answers, or that finds no device of yours.',
    does: { action: 'set', setting: 'forward_no_answer' },
  },
  {
    id: 'forward_no_answer.off',
    patterns: ['*93'],
    title: 'Do not forward when unanswered',
    about: 'A call that nobody answers is no longer led elsewhere.',
    does: { action: 'clear', setting: 'forward_no_answer' },
  },
];

/** A pattern as the documentation shows it: `_*22ZX` becomes `*22…`. */
const dialledAs = (pattern: string): string =>
  pattern.startsWith('_') ? pattern.slice(1).replace(/[XZN].*/s, '…') : pattern;

/** The body of docs/feature-codes.md: a Markdown table with one row for each code. */
export function featureCodesTable(): string {
  const rows = FEATURE_CODES.map((code) => {
    const keys = [...new Set(code.patterns.map(dialledAs))].map((p) => `\`${p}\``).join(', ');
    return `| ${keys} | ${code.title} | ${code.about} | \`${code.id}\` |`;
  });
  return ['| Dial | Name | What it does | Id |', '|---|---|---|---|', ...rows, ''].join('\n');
}
