/** Where a number is typed, pasted, chosen by name, or pressed on keys. */
import { useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import { ActionIcon, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Delete } from 'lucide-react';
import { useClient, useMe } from '../app/session.tsx';
import { LETTERS, dialled, isTone } from './number.ts';
import styles from './phone.module.css';
import { t } from './words.ts';

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '0', '#'];
const NAMED = 5;
const signOf = (key: string): string => LETTERS[key] ?? '';

interface KeypadProps {
  readonly onKey: (key: string) => void;
  /** Keys of the keyboard count too, while the focus is within. */
  readonly keyboard?: boolean;
}
export function Keypad({ onKey, keyboard = false }: KeypadProps): ReactNode {
  return (
    <div
      className={styles.pad}
      role="group"
      aria-label={t('keypad')}
      onKeyDown={(event) => {
        if (!keyboard || !isTone(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        onKey(event.key);
      }}
    >
      {KEYS.map((key, i) => (
        <UnstyledButton
          key={key}
          className={styles.key}
          data-autofocus={keyboard && i === 0 ? true : undefined}
          onClick={() => onKey(key)}
        >
          {`${key} `}
          <span className={styles.letters}>{signOf(key)}</span>
        </UnstyledButton>
      ))}
    </div>
  );
}

interface NumberFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Enter, or a name that was chosen. */
  readonly onSubmit: (number: string) => void;
  readonly label: string;
  readonly description?: string;
  readonly field?: RefObject<HTMLInputElement | null>;
}
/** A number, or part of a name of the directory. */
export function NumberField({
  value,
  onChange,
  onSubmit,
  label,
  description,
  field,
}: NumberFieldProps): ReactNode {
  const client = useClient();
  const { extension } = useMe();
  const own = useRef<HTMLInputElement>(null);
  const input = field ?? own;
  const [wanted] = useDebouncedValue(value.trim(), 200);
  const { data } = useQuery({
    queryKey: ['phone', 'names', wanted],
    queryFn: ({ signal }) => client.contacts({ q: wanted, limit: NAMED + 1 }, signal),
    enabled: wanted.length >= 2 && dialled(wanted) !== extension,
  });
  const named =
    wanted.length < 2 ? [] : (data?.contacts ?? []).filter((c) => c.extension !== extension).slice(0, NAMED);
  const exact = named.length === 1 && named[0]?.extension === value.trim();
  const isName = /\p{L}/u.test(value) && !/\d/.test(value);
  return (
    <div>
      <TextInput
        ref={input}
        label={label}
        description={description}
        value={value}
        size="md"
        inputMode="tel"
        autoComplete="off"
        maxLength={64}
        data-autofocus
        onChange={(event) => onChange(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          const [first] = named;
          // A name that is still typed is whom it finds, not the digits of its letters.
          onSubmit(isName && first !== undefined ? first.extension : value);
        }}
        rightSection={
          value !== '' && (
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              aria-label={t('delete')}
              onClick={() => {
                onChange(value.slice(0, -1));
                input.current?.focus();
              }}
            >
              <Delete size={18} aria-hidden />
            </ActionIcon>
          )
        }
      />
      {!exact && named.length > 0 && (
        <ul className={styles.matches}>
          {named.map((contact) => (
            <li key={contact.extension}>
              <UnstyledButton
                className={styles.match}
                aria-label={`${contact.name} ${contact.extension}`}
                onClick={() => onSubmit(contact.extension)}
              >
                <Text size="sm" fw={550} truncate>
                  {contact.name}
                </Text>
                <Text size="sm" c="dimmed">
                  {contact.extension}
                </Text>
              </UnstyledButton>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
/** The text of a field with what is pressed beside it. */
export function useNumber(): readonly [
  value: string,
  set: (value: string) => void,
  press: (key: string) => void,
] {
  const [value, set] = useState('');
  return [value, set, (key) => set((before) => before + key)];
}
