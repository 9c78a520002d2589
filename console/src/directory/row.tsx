import { memo } from 'react';
import type { CSSProperties, ReactNode } from 'react';
import { ActionIcon, Avatar, Button, Menu, Text, UnstyledButton } from '@mantine/core';
import { Copy, Ellipsis, Mail, Phone, PhoneIncoming, Smartphone, Star } from 'lucide-react';
import type { Contact } from '@offhook/contract/extensions.ts';
import { copyText } from '../app/copy.ts';
import { QuietIcon } from '../app/quiet-icon.ts';
import { formatDateTime, formatSpan, formatTime } from '../app/format.ts';
import { useRecord } from '../app/live.ts';
import { serverNow, useSince } from '../app/now.ts';
import { DevicesSign, PresenceBadge } from '../presence/badge.tsx';
import { shownOf } from '../presence/state.ts';
import type { Dialling } from './dial.ts';
import { wordsOf } from '../app/words.ts';
import styles from './directory.module.css';

const say = wordsOf('presence');
const t = wordsOf('directory');

const DAY_MS = 86_400_000;
function Since({ time }: { readonly time: string }): ReactNode {
  return <span className={styles.since}>{formatSpan(useSince(time))}</span>;
}
const endOf = (time: string): string =>
  Date.parse(time) - serverNow() < DAY_MS ? formatTime(time) : formatDateTime(time);

export interface PersonProps {
  readonly contact: Contact;
  readonly own: boolean;
  /** True if the reader may pick up a call ringing there. */
  readonly mayPickUp: boolean;
  readonly favourite: boolean;
  readonly onFavourite: (extension: string) => void;
  readonly dialling: Dialling;
  readonly place: number;
  readonly of: number;
  readonly index: number;
  readonly style: CSSProperties;
}
/** Further ways to reach a person. */
function PersonMenu({
  contact,
  own,
  dialling,
}: Pick<PersonProps, 'contact' | 'own' | 'dialling'>): ReactNode {
  const { extension, name, mobile, email } = contact;
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <QuietIcon aria-label={t('more', { name })} data-call={own || undefined}>
          <Ellipsis size={18} aria-hidden />
        </QuietIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {mobile !== null && !own && (
          <Menu.Item
            leftSection={<Smartphone size={16} aria-hidden />}
            onClick={() => void dialling.call(mobile.replace(/[^+\d]/g, ''), name)}
          >
            {t('call_mobile', { number: mobile })}
          </Menu.Item>
        )}
        {email !== null && (
          <Menu.Item
            component="a"
            href={`mailto:${encodeURIComponent(email).replace('%40', '@')}`}
            leftSection={<Mail size={16} aria-hidden />}
          >
            {t('write', { email })}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<Copy size={16} aria-hidden />} onClick={() => void copyText(extension)}>
          {t('copy_number', { number: extension })}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
/** Rendered again only when its own presence changed. */
export const Person = memo(function Person(props: PersonProps): ReactNode {
  const { contact, own, mayPickUp, favourite, onFavourite, dialling, place, of, index, style } = props;
  const { extension, name, department, mobile } = contact;
  const presence = useRecord('presence', extension) ?? contact.presence;
  const shown = shownOf(presence);
  const { note, expires_at } = presence;
  const ringing = presence.activity === 'ringing' || presence.activity === 'in_call_and_ringing';
  const ticking = shown.group === 'busy' && shown.word !== 'dnd';
  // Do not disturb hides the activity, which is shown beside it.
  const line =
    shown.word === 'dnd' && presence.activity !== 'idle' ? (ringing ? 'ringing' : 'in_call') : null;
  const word = presence.personal;
  const saysMore = word !== 'not_set' && word !== 'dnd' && word !== shown.word;
  const said = [saysMore ? say(word) : null, note].filter((text) => text !== null).join(' · ');
  return (
    <li
      className={styles.row}
      style={style}
      aria-posinset={place}
      aria-setsize={of}
      data-index={index}
      data-extension={extension}
    >
      <QuietIcon
        className={styles.star ?? ''}
        aria-pressed={favourite}
        aria-label={t(favourite ? 'remove_favourite' : 'add_favourite', { name })}
        onClick={() => onFavourite(extension)}
      >
        <Star size={18} aria-hidden fill={favourite ? 'currentColor' : 'none'} />
      </QuietIcon>
      <Avatar size={38} radius="xl" name={name} color="offhook" className={styles.avatar ?? ''} aria-hidden />
      <div className={styles.who}>
        <Text component="div" fw={600} className={styles.line ?? ''}>
          {own ? (
            <span className={styles.name} title={name}>
              {name}
            </span>
          ) : (
            <UnstyledButton
              className={`${styles.name ?? ''} ${styles.calls ?? ''}`}
              aria-label={t('call', { name })}
              title={name}
              onClick={() => void dialling.call(extension, name)}
            >
              {name}
            </UnstyledButton>
          )}
          <span className={styles.inlineNumber}>{extension}</span>
          {own && <span className={styles.you}>({t('you')})</span>}
        </Text>
        <Text size="sm" c="dimmed" truncate className={styles.said ?? ''} title={said}>
          {said}
          {said !== '' && expires_at !== null && ` (${say('until', { time: endOf(expires_at) })})`}
        </Text>
      </div>
      <div className={styles.number}>
        <Text ff="monospace" fw={550}>
          {extension}
        </Text>
        {mobile !== null && (
          <Text size="xs" c="dimmed" truncate>
            {mobile}
          </Text>
        )}
      </div>
      <Text size="sm" truncate className={styles.department ?? ''} title={department ?? ''}>
        {department}
      </Text>
      <div className={styles.status}>
        <PresenceBadge shown={shown}>{ticking && <Since time={presence.since} />}</PresenceBadge>
        {line !== null && (
          <Text size="xs" c="dimmed" truncate>
            {say(line)}
          </Text>
        )}
      </div>
      <div className={styles.phones}>
        <DevicesSign reachability={presence.reachability} />
      </div>
      <div className={styles.actions}>
        {ringing && mayPickUp && !own && (
          <Button
            variant="filled"
            size="sm"
            leftSection={<PhoneIncoming size={16} aria-hidden />}
            aria-label={t('pickup', { name })}
            onClick={() => void dialling.pickUp(extension, name)}
          >
            {t('pickup_short')}
          </Button>
        )}
        {!own && (
          <ActionIcon
            variant="light"
            size={40}
            data-call
            aria-label={t('call', { name: `${name} ${extension}` })}
            title={t('call_short')}
            onClick={() => void dialling.call(extension, name)}
          >
            <Phone size={18} aria-hidden />
          </ActionIcon>
        )}
        <PersonMenu contact={contact} own={own} dialling={dialling} />
      </div>
    </li>
  );
});
