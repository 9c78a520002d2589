/** Small parts of the API page. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { ActionIcon, NativeSelect, NavLink, ScrollArea, Text, UnstyledButton } from '@mantine/core';
import { Check, ChevronRight, Copy } from 'lucide-react';
import { CopyButton } from '../app/copy.ts';
import { wordsOf } from '../app/words.ts';
import styles from './api.module.css';

const t = wordsOf('api');

/** English text of the documents; text between backticks is code. */
export const Prose = ({ children }: { readonly children: string }): ReactNode => (
  <span lang="en">
    {children.split('`').map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}
  </span>
);
/** Preformatted text with a button that copies it. */
export const Code = ({ text, label }: { readonly text: string; readonly label: string }): ReactNode => (
  <div className={styles.codeBox}>
    <pre className={styles.code} tabIndex={0} aria-label={label}>
      {text}
    </pre>
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <ActionIcon
          className={styles.copy ?? ''}
          variant="default"
          size="lg"
          onClick={copy}
          aria-label={copied ? t('copied') : `${t('copy')}: ${label}`}
        >
          {copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
        </ActionIcon>
      )}
    </CopyButton>
  </div>
);
interface DisclosureProps {
  readonly head: ReactNode;
  readonly children: () => ReactNode;
  readonly opened?: boolean;
  readonly onToggle?: (opened: boolean) => void;
  readonly className?: string | undefined;
  readonly id?: string;
}
/** Its content is rendered on the first opening. */
export function Disclosure({
  head,
  children,
  opened: given,
  onToggle,
  className,
  id,
}: DisclosureProps): ReactNode {
  const [own, setOwn] = useState(false);
  const opened = given ?? own;
  return (
    <div className={className} id={id}>
      <UnstyledButton
        className={styles.toggle}
        aria-expanded={opened}
        onClick={() => (onToggle ? onToggle(!opened) : setOwn(!opened))}
      >
        <ChevronRight size={16} aria-hidden className={styles.chevron} data-opened={opened || undefined} />
        {head}
      </UnstyledButton>
      {opened && children()}
    </div>
  );
}
interface GroupsProps {
  readonly groups: readonly { readonly name: string; readonly count: number }[];
  readonly value: string | null;
  readonly onChange: (group: string) => void;
}
/** One group is rendered at a time, so that the page stays quick. */
export const Groups = ({ groups, value, onChange }: GroupsProps): ReactNode => (
  <nav aria-label={t('group')} className={styles.groups}>
    <NativeSelect
      hiddenFrom="md"
      label={t('group')}
      value={value ?? ''}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[
        ...(value === null ? [{ value: '', label: '–' }] : []),
        ...groups.map(({ name, count }) => ({ value: name, label: `${name} (${count})` })),
      ]}
    />
    <ScrollArea.Autosize
      mah="calc(100vh - 140px)"
      type="auto"
      scrollbarSize={6}
      offsetScrollbars="y"
      visibleFrom="md"
    >
      <ul className={styles.list}>
        {groups.map(({ name, count }) => (
          <li key={name}>
            <NavLink
              component="button"
              label={name}
              lang="en"
              active={name === value}
              aria-current={name === value || undefined}
              className={styles.groupLink ?? ''}
              onClick={() => onChange(name)}
              rightSection={
                <Text size="xs" c="dimmed" component="span">
                  {count}
                </Text>
              }
            />
          </li>
        ))}
      </ul>
    </ScrollArea.Autosize>
  </nav>
);
