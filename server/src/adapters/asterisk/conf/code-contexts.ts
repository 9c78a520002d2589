/** Feature codes, as the site dials them. */
import type { FeatureCode, Site, SiteExtension } from '../../../ports/site.ts';
import { dialledPatterns } from '../../../routing/plan.ts';
import { codeSteps } from './code-steps.ts';
import { at, context, exten } from './dialplan-text.ts';
import { application, applicationData, conf, dialled, joined, label, pattern, slug, whole } from './text.ts';
import type { ConfText } from './text.ts';

const nothing = conf``;

function steps(code: FeatureCode, site: Site): readonly ConfText[] {
  const what = `feature code ${code.id}`;
  return codeSteps(code.does, site).map((step) => {
    const data = step.data === undefined ? nothing : applicationData(step.data, `${what}: ${step.app}`);
    const text = conf`${application(step.app, what)}(${data})`;
    return step.label === undefined ? text : at(label(step.label, `${what}: label`), text);
  });
}
const all = (patterns: readonly string[], what: string, own: readonly ConfText[]): ConfText =>
  joined(
    patterns.map((p) => exten(pattern(p, `${what}: pattern`), own)),
    '',
  );
/** A code reads the digits dialled after it, so a code with another prefix receives the number with the standard prefix. */
function moved(code: FeatureCode): readonly ConfText[] {
  if (code.moved === undefined) return [];
  const what = `feature code ${code.id}`;
  const from = pattern(code.moved.from, `${what}: own code`);
  const rest = conf`$\{EXTEN:${whole(code.moved.to.length, `${what}: length`, 1, 20)}}`;
  return [all(dialledPatterns(code), what, [conf`Goto(moved-codes,${from}${rest},1)`])];
}

/** Rights to pick up calls (the group of each extension, and the extensions that may pick up any call) and to block callers. */
function pickupContexts({ extensions }: Site): readonly ConfText[] {
  const of = (e: SiteExtension): ConfText => dialled(e.extension, 'an extension');
  return [
    context(
      conf`pickup-group`,
      extensions.flatMap((e) =>
        e.pickup_group === null
          ? []
          : [exten(of(e), [conf`Return(${slug(e.pickup_group, `extension ${of(e)}: pickup group`)})`])],
      ),
    ),
    context(
      conf`pickup-everywhere`,
      extensions.filter((e) => e.pickup_everywhere).map((e) => exten(of(e), [conf`NoOp()`])),
    ),
    context(
      conf`may-block`,
      extensions.filter((e) => e.blocks_callers).map((e) => exten(of(e), [conf`NoOp()`])),
    ),
  ];
}

/** A number for each reason of a pause: one step with all of them would be longer than a line may be. */
const pauseReasons = ({ pause_reasons }: Site): ConfText =>
  context(
    conf`pause-reasons`,
    pause_reasons.flatMap(({ id, supervisor_only }, i) =>
      supervisor_only
        ? []
        : [
            exten(whole(i + 1, 'the number of a reason', 1, 1_000), [
              conf`Return(${slug(id, 'the id of a reason')})`,
            ]),
          ],
    ),
  );

export function codeContexts(site: Site): ConfText {
  const own = (code: FeatureCode): ConfText =>
    all(code.patterns, `feature code ${code.id}`, steps(code, site));
  const elsewhere = site.feature_codes.filter((code) => code.moved !== undefined);
  return joined(
    [
      context(
        conf`feature-codes`,
        site.feature_codes.flatMap((code) => (code.moved === undefined ? [own(code)] : moved(code))),
      ),
      elsewhere.length === 0 ? nothing : context(conf`moved-codes`, elsewhere.map(own)),
      ...pickupContexts(site),
      pauseReasons(site),
    ],
    '',
  );
}
