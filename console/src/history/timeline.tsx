/** Drawing of a conversation's course; the table has the same facts for screen readers. */
import type { ReactNode } from 'react';
import { Group, Text } from '@mantine/core';
import { ArrowRightLeft, CircleParking, Forward, Hand, PhoneForwarded, Users } from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { formatClock, formatSpan } from '../app/format.ts';
import { placeOf, spanOf, ticksOf, visitName } from './course.ts';
import type { Leg, Recording, Segment, Transfer, Visit } from './course.ts';
import { nameOf } from './party.tsx';
import { numberOf } from './sides.ts';
import { wordsOf } from '../app/words.ts';
import styles from './conversation.module.css';

const dispositionWord = wordsOf('dispositions');
const t = wordsOf('conversation');
const recordingWord = wordsOf('player');

type Span = readonly [number, number];
const MARKS: Readonly<Record<Transfer['kind'], LucideIcon>> = {
  blind: PhoneForwarded,
  attended: ArrowRightLeft,
  forward: Forward,
  pickup: Hand,
  park: CircleParking,
  conference: Users,
};
interface BarProps {
  readonly span: Span;
  readonly from: string;
  readonly to: string | null;
  readonly kind: string;
  readonly text: string;
  readonly slim?: boolean;
}
function Bar({ span, from, to, kind, text, slim = false }: BarProps): ReactNode {
  const [start, end] = [Date.parse(from), to === null ? span[1] : Date.parse(to)];
  const { left, width } = placeOf(span, start, end);
  return (
    <span
      className={`${styles.bar} ${styles[kind]} ${slim ? styles.slim : ''}`}
      style={{ left: `${left}%`, width: `${width}%` }}
      title={`${text} · ${formatClock(start)} · ${formatSpan((end - start) / 1000)}`}
    >
      {!slim && <span className={styles.barText}>{text}</span>}
    </span>
  );
}
const Lane = ({
  name,
  note,
  children,
  slim = false,
}: {
  readonly name: ReactNode;
  readonly note?: string;
  readonly children: ReactNode;
  readonly slim?: boolean;
}): ReactNode => (
  <div className={`${styles.lane} ${slim ? styles.slimLane : ''}`}>
    <div className={styles.label}>
      <Text span size="sm" fw={slim ? 400 : 600} truncate className={styles.labelName ?? ''}>
        <bdi>{name}</bdi>
      </Text>
      {note !== undefined && (
        <Text span size="xs" c="dimmed" truncate>
          {note}
        </Text>
      )}
    </div>
    <div className={styles.track}>{children}</div>
  </div>
);
const segmentText = (s: Segment): string => t(`seg_${s.state}`);

function VisitLane({ visit, span }: { readonly visit: Visit; readonly span: Span }): ReactNode {
  return (
    <Lane slim name={t('queue', { queue: visitName(visit) })} note={t(`visit_${visit.outcome}`)}>
      <Bar
        slim
        span={span}
        from={visit.joined_at}
        to={visit.left_at}
        kind="queued"
        text={t(`visit_${visit.outcome}`)}
      />
      {visit.offers.map((offer) => (
        <Bar
          key={`${offer.leg_id} ${offer.started_at}`}
          span={span}
          from={offer.started_at}
          to={new Date(Date.parse(offer.started_at) + offer.ring_time * 1000).toISOString()}
          slim
          kind={offer.disposition === 'answered' ? 'offerTaken' : 'offerMissed'}
          text={`${offer.extension ?? ''} ${dispositionWord(`leg_${offer.disposition}`)}`}
        />
      ))}
    </Lane>
  );
}
function LegLanes({ leg, visits, span }: { leg: Leg; visits: readonly Visit[]; span: Span }): ReactNode {
  const { participant, role, segments } = leg;
  const [name, number] = [nameOf(participant), numberOf(participant)];
  return (
    <>
      <Lane name={name} note={[name === number ? '' : number, t(`role_${role}`)].filter(Boolean).join(' · ')}>
        {segments.map((s) => (
          <Bar
            key={s.started_at + s.state}
            span={span}
            from={s.started_at}
            to={s.ended_at}
            kind={s.state}
            text={segmentText(s)}
          />
        ))}
      </Lane>
      {visits.map((visit) => (
        <VisitLane key={visit.joined_at} visit={visit} span={span} />
      ))}
    </>
  );
}
function RecordingLane({
  recording,
  span,
}: {
  readonly recording: Recording;
  readonly span: Span;
}): ReactNode {
  return (
    <Lane slim name={t('recording')} note={recordingWord(`by_${recording.by}`)}>
      <Bar
        slim
        span={span}
        from={recording.started_at}
        to={recording.ended_at}
        kind="recording"
        text={t('recorded')}
      />
      {recording.paused.map(({ from, to }) => (
        <Bar
          key={from}
          slim
          span={span}
          from={from}
          to={to ?? recording.ended_at}
          kind="recordPaused"
          text={t('record_paused')}
        />
      ))}
    </Lane>
  );
}
const LEGEND = ['alerting', 'queued', 'connected', 'held', 'parked', 'service'] as const;

export function Timeline({ conversation: c }: { readonly conversation: Conversation }): ReactNode {
  const span = spanOf(c);
  const seconds = (span[1] - span[0]) / 1000;
  const seen = new Set(c.legs.flatMap((leg) => leg.segments.map((s) => s.state)));
  return (
    <div aria-hidden className={styles.timeline} data-testid="timeline">
      <div className={styles.lane}>
        <div />
        <div className={styles.axis}>
          {ticksOf(seconds).map((at) => (
            <span
              key={at}
              className={styles.tick}
              style={{ left: `${(at / seconds) * 100}%` }}
              data-late={at / seconds > 0.93 || undefined}
            >
              <span>{formatSpan(at)}</span>
              <span className={styles.clock}>{formatClock(span[0] + at * 1000)}</span>
            </span>
          ))}
        </div>
      </div>
      <div className={styles.lanes}>
        {c.legs.map((leg) => (
          <LegLanes
            key={leg.leg_id}
            leg={leg}
            visits={c.queue_visits.filter((v) => v.leg_id === leg.leg_id)}
            span={span}
          />
        ))}
        {c.recordings.map((r) => (
          <RecordingLane key={r.id} recording={r} span={span} />
        ))}
        <div className={styles.marks}>
          {c.transfers.map((transfer) => {
            const Mark = MARKS[transfer.kind];
            const { left } = placeOf(span, Date.parse(transfer.at), Date.parse(transfer.at));
            const text = t(`transfer_${transfer.kind}`, { to: transfer.to });
            return (
              <span
                key={transfer.at + transfer.kind}
                className={styles.mark}
                style={{ left: `${left}%` }}
                title={`${text}: ${t(`to_${transfer.outcome}`)} · ${formatClock(transfer.at)}`}
              >
                <span className={styles.markIcon}>
                  <Mark size={13} />
                </span>
              </span>
            );
          })}
        </div>
      </div>
      <Group gap="md" mt="sm" className={styles.legend ?? ''}>
        {LEGEND.filter((state) => seen.has(state)).map((state) => (
          <Group key={state} gap={6}>
            <span className={`${styles.swatch} ${styles[state]}`} />
            <Text size="xs" c="dimmed">
              {t(`seg_${state}`)}
            </Text>
          </Group>
        ))}
      </Group>
    </div>
  );
}
