import type { ReactNode } from 'react';
import { Table } from '@mantine/core';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { formatClock, formatSpan } from '../app/format.ts';
import { queueName } from '../app/queue-names.ts';
import { factsOf, visitName } from './course.ts';
import type { Fact, Segment } from './course.ts';
import { nameOf } from './party.tsx';
import { numberOf } from './sides.ts';
import { wordsOf } from '../app/words.ts';

const dispositionWord = wordsOf('dispositions');
const t = wordsOf('conversation');

type Names = (leg: string | null) => string;
const namesOf = ({ legs }: Conversation): Names => {
  const names = new Map(
    legs.map(({ leg_id, participant }) => {
      const [name, number] = [nameOf(participant), numberOf(participant)];
      return [leg_id, name === number || number === '' ? name : `${name} (${number})`];
    }),
  );
  return (leg) => (leg === null ? '' : (names.get(leg) ?? ''));
};
function segmentWord(c: Conversation, s: Segment): string {
  const more =
    s.state === 'held' && s.held_by !== null
      ? t(`held_${s.held_by}`)
      : s.state === 'queued' && s.queue !== null
        ? queueName(c, s.queue)
        : s.service;
  return more ? `${t(`seg_${s.state}`)} (${more})` : t(`seg_${s.state}`);
}
function whatOf(c: Conversation, fact: Fact): string {
  switch (fact.is) {
    case 'segment':
      return segmentWord(c, fact.segment);
    case 'joined':
      return t('joined', { queue: visitName(fact.visit), outcome: t(`visit_${fact.visit.outcome}`) });
    case 'offer':
      return t('offer', {
        queue: visitName(fact.visit),
        outcome: dispositionWord(`leg_${fact.offer.disposition}`),
      });
    case 'transfer': {
      const { kind, to, outcome } = fact.transfer;
      return `${t(`transfer_${kind}`, { to })}: ${t(`to_${outcome}`)}`;
    }
    case 'left': {
      const { disposition, ended_by } = fact.of;
      const how = ended_by === null ? [] : [t(`end_${ended_by}`)];
      return t('left', { outcome: [dispositionWord(`leg_${disposition}`), ...how].join(', ') });
    }
    case 'recorded':
      return t('recorded');
    case 'paused':
      return t('record_paused');
  }
}
/** A forward without a leg has the extension that forwards its calls. */
const whoOf = (fact: Fact, names: Names): string =>
  names(fact.leg) || (fact.is === 'transfer' ? (fact.transfer.forwarded_by ?? '') : '');
function withOf(fact: Fact, names: Names): string {
  if (fact.is === 'segment') return fact.segment.with.map(names).join(', ');
  return fact.is === 'transfer' ? names(fact.transfer.moved) : '';
}
/** Everything in the drawing, in order. */
export function CourseTable({
  conversation,
  scrolls,
}: {
  readonly conversation: Conversation;
  /** False while hidden: then it takes no focus. */
  readonly scrolls: boolean;
}): ReactNode {
  const names = namesOf(conversation);
  const table = (
    <Table verticalSpacing={6} data-testid="course">
      <Table.Thead>
        <Table.Tr>
          {(['time', 'who', 'what', 'long', 'with'] as const).map((name) => (
            <Table.Th key={name} scope="col">
              {t(name)}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {factsOf(conversation).map((fact, i) => (
          <Table.Tr key={i} data-fact={fact.is}>
            <Table.Td style={{ whiteSpace: 'nowrap' }}>
              <time dateTime={new Date(fact.at).toISOString()}>{formatClock(fact.at)}</time>
            </Table.Td>
            <Table.Td>
              <bdi>{whoOf(fact, names)}</bdi>
            </Table.Td>
            <Table.Td>{whatOf(conversation, fact)}</Table.Td>
            <Table.Td style={{ whiteSpace: 'nowrap' }}>
              {fact.seconds === null ? '' : formatSpan(fact.seconds)}
            </Table.Td>
            <Table.Td>
              <bdi>{withOf(fact, names)}</bdi>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
  return scrolls ? (
    <Table.ScrollContainer minWidth={520} type="native" tabIndex={0} aria-label={t('course')} role="region">
      {table}
    </Table.ScrollContainer>
  ) : (
    table
  );
}
