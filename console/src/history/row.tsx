import { memo } from 'react';
import type { ReactNode } from 'react';
import { Badge, Menu, Text } from '@mantine/core';
import { ArrowRight, EllipsisVertical, EyeOff, Mic, Phone, StickyNote } from 'lucide-react';
import { Link } from 'wouter';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { QuietIcon } from '../app/quiet-icon.ts';
import { formatSpan, formatTime, spanAttribute } from '../app/format.ts';
import { queueNames } from '../app/queue-names.ts';
import { talkSpan } from '../app/talk-span.ts';
import { useSince } from '../app/now.ts';
import { conversationAddress } from './last-list.ts';
import { PartyText, colourOf, dispositionText, iconOf } from './party.tsx';
import { callBackOf, sidesOf } from './sides.ts';
import type { Party } from './sides.ts';
import { wordsOf } from '../app/words.ts';
import styles from './history.module.css';

const t = wordsOf('history');

const Ticking = ({ since }: { readonly since: string }): ReactNode => formatSpan(useSince(since));

function Sides({ sides }: { readonly sides: readonly Party[] }): ReactNode {
  return sides.map((party, i) => (
    <span key={i} className={styles.side}>
      {i > 0 && <ArrowRight size={14} aria-label="→" className={styles.arrow ?? ''} />}
      <bdi>
        <PartyText party={party} />
      </bdi>
    </span>
  ));
}

export interface RowActions {
  readonly call: (number: string) => void;
  /** Null outside of one's own view. */
  readonly hide: ((id: string) => void) | null;
}
export interface RowProps {
  readonly conversation: ConversationSummary;
  /** Extension of the list's owner in the own list; null in the list of all. */
  readonly own: string | null;
  readonly me: string;
  readonly index: number;
  readonly actions: RowActions;
}
/** One conversation; the whole row links to it. */
export const Row = memo(function Row({ conversation: c, own, me, index, actions }: RowProps): ReactNode {
  const Icon = iconOf(c);
  const number = callBackOf(c, me);
  const open = c.state === 'open';
  return (
    <div className={styles.row}>
      <span className={styles.icon} style={{ color: colourOf(c) }}>
        <Icon size={18} aria-hidden />
      </span>
      <Link href={conversationAddress(c.id)} className={styles.who ?? ''} data-row={index}>
        <Sides sides={sidesOf(c, own)} />
      </Link>
      <span className={styles.what}>
        <Text span inherit c={colourOf(c)} fw={550}>
          {dispositionText(c)}
        </Text>
        {c.queues.length > 0 && (
          <Text span inherit c="dimmed">
            {` · ${queueNames(c).join(', ')}`}
          </Text>
        )}
      </span>
      <span className={styles.marks}>
        {c.outcome !== null && (
          <Badge size="sm" variant="light" color="gray" tt="none" className={styles.outcome ?? ''}>
            {c.outcome.code}
          </Badge>
        )}
        {c.has_recording && <Mic size={15} role="img" aria-label={t('has_recording')} />}
        {c.notes > 0 && (
          <span className={styles.notes}>
            <StickyNote size={15} role="img" aria-label={t('notes', { count: c.notes })} />
            {c.notes > 1 && <span aria-hidden>{c.notes}</span>}
          </span>
        )}
      </span>
      <time className={styles.span} dateTime={spanAttribute(talkSpan(c) || c.wait_time)}>
        {open ? (
          <Ticking since={c.started_at} />
        ) : c.disposition === 'answered' || c.talk_time > 0 ? (
          formatSpan(talkSpan(c))
        ) : c.wait_time > 0 ? (
          <Text span inherit c="dimmed">
            {t('waited', { span: formatSpan(c.wait_time) })}
          </Text>
        ) : null}
      </time>
      <time className={styles.time} dateTime={c.started_at}>
        {formatTime(c.started_at)}
      </time>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <QuietIcon aria-label={t('actions')} className={styles.menu ?? ''}>
            <EllipsisVertical size={18} aria-hidden />
          </QuietIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {number !== null && (
            <Menu.Item leftSection={<Phone size={16} aria-hidden />} onClick={() => actions.call(number)}>
              {t('call', { number })}
            </Menu.Item>
          )}
          <Menu.Item
            component={Link}
            href={conversationAddress(c.id)}
            leftSection={<ArrowRight size={16} aria-hidden />}
          >
            {t('open')}
          </Menu.Item>
          {actions.hide !== null && !open && (
            <Menu.Item leftSection={<EyeOff size={16} aria-hidden />} onClick={() => actions.hide?.(c.id)}>
              {t('hide')}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
    </div>
  );
});
