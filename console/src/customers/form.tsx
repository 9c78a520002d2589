import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  Button,
  Checkbox,
  Fieldset,
  Group,
  SegmentedControl,
  Select,
  Stack,
  TagsInput,
  Text,
  TextInput,
  Textarea,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { OffhookError } from '@offhook/client';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { QuietIcon } from '../app/quiet-icon.ts';
import { useAttempt } from '../app/attempt.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { Dialog } from '../app/dialog.tsx';
import { errorAt, fieldsWith } from '../app/field-errors.ts';
import { useChange } from '../app/page-parts.tsx';
import { contactsQuery } from '../app/queries.ts';
import { useClient, useMay } from '../app/session.tsx';
import { language as spoken, wordsOf } from '../app/words.ts';
import { CUSTOMERS } from '../app/queries.ts';
import { fieldsOf, hintOf, isFixed, mergedFields, mergedRows, rowsOf, wantedOf } from './form-fields.ts';
import type { FormFields, NumberRow } from './form-fields.ts';
import styles from './customers.module.css';

const t = wordsOf('customers');
const marks = wordsOf('customer');

/** Limits of one customer, as in the contract, which is not loaded here. */
const MOST = { name: 120, label: 40, number: 40, numbers: 20, emails: 10, note: 2_000 };
/** Props of an input that shows a value of a connected system. */
const FIXED = { readOnly: true, variant: 'filled' } as const;
interface NameProps {
  readonly customer: Customer | null;
  readonly fields: FormFields;
  readonly field: (name: 'name' | 'company') => { readonly label: string; readonly error: ReactNode };
  readonly onChange: (more: Partial<FormFields>) => void;
}
function NameFields({ customer, fields, field, onChange }: NameProps): ReactNode {
  return (
    <Group grow align="flex-start" preventGrowOverflow={false}>
      <TextInput
        {...field('name')}
        value={fields.name}
        maxLength={MOST.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
        miw={200}
        data-autofocus
        required
        {...(isFixed(customer, 'name') && FIXED)}
      />
      {fields.kind === 'person' && (
        <TextInput
          {...field('company')}
          value={fields.company}
          maxLength={MOST.name}
          onChange={(event) => onChange({ company: event.currentTarget.value })}
          miw={200}
          {...(isFixed(customer, 'company') && FIXED)}
        />
      )}
    </Group>
  );
}
interface NumbersProps {
  readonly rows: readonly NumberRow[];
  readonly fixed: boolean;
  /** Error at the n-th number that is sent: rows without a number are not. */
  readonly errorAt: (part: string) => ReactNode;
  readonly onChange: (rows: readonly NumberRow[]) => void;
}
function NumberFields({ rows, fixed, errorAt, onChange }: NumbersProps): ReactNode {
  const change = (key: number, fields: Partial<NumberRow>): void =>
    onChange(rows.map((row) => (row.key === key ? { ...row, ...fields } : row)));
  const add = (): void =>
    onChange([...rows, { key: Math.max(0, ...rows.map(({ key }) => key)) + 1, number: '', label: '' }]);
  return (
    <Fieldset legend={t('numbers')}>
      <Stack gap="xs">
        {rows.map(({ key, number, label }, index) => {
          const n = index + 1;
          const sent = rows.slice(0, index).filter((row) => row.number.trim() !== '').length;
          const at = (part: string): ReactNode => number.trim() !== '' && errorAt(`${sent}.${part}`);
          return (
            <div key={key} className={styles.numberRow}>
              <TextInput
                type="tel"
                aria-label={t('number', { n })}
                placeholder={t('number_example')}
                value={number}
                maxLength={MOST.number}
                error={at('number')}
                onChange={(event) => change(key, { number: event.currentTarget.value })}
                {...(fixed && FIXED)}
              />
              <TextInput
                aria-label={t('label', { n })}
                placeholder={t('label_example')}
                value={label}
                maxLength={MOST.label}
                error={at('label')}
                onChange={(event) => change(key, { label: event.currentTarget.value })}
                {...(fixed && FIXED)}
              />
              {!fixed && (
                <QuietIcon
                  aria-label={t('remove_number', { n })}
                  onClick={() => onChange(rows.filter((row) => row.key !== key))}
                >
                  <X size={18} aria-hidden />
                </QuietIcon>
              )}
            </div>
          );
        })}
        {!fixed && rows.length < MOST.numbers && (
          <Button
            variant="default"
            leftSection={<Plus size={16} aria-hidden />}
            onClick={add}
            style={{ alignSelf: 'flex-start' }}
          >
            {t('add_number')}
          </Button>
        )}
      </Stack>
    </Fieldset>
  );
}

interface OwnerProps {
  readonly label: string;
  readonly error: ReactNode;
  readonly value: string | null;
  readonly onChange: (owner: string | null) => void;
}
function OwnerSelect({ label, error, value, onChange }: OwnerProps): ReactNode {
  const client = useClient();
  const contacts = useQuery(contactsQuery(client));
  const people = contacts.data?.contacts ?? [];
  const data = people.map(({ extension, name }) => ({ value: extension, label: `${name} ${extension}` }));
  // An owner who left the site stays selected until another one is chosen.
  if (value !== null && people.every(({ extension }) => extension !== value))
    data.unshift({ value, label: value });
  return (
    <Select
      label={label}
      error={error}
      description={t('owner_hint')}
      placeholder={t('nobody')}
      data={data}
      value={value}
      onChange={onChange}
      limit={100}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('nobody') }}
      nothingFoundMessage={t('no_match')}
      comboboxProps={{ position: 'top' }}
    />
  );
}

/** Languages with prompts of the engine, and those of the console; another one of the customer stays. */
const LANGUAGES = ['de', 'en', 'es', 'fr', 'it', 'ru', 'tr'];
function LanguageSelect({
  label,
  error,
  value,
  fixed,
  onChange,
}: {
  readonly label: string;
  readonly error: ReactNode;
  readonly value: string;
  readonly fixed: boolean;
  readonly onChange: (language: string) => void;
}): ReactNode {
  const names = new Intl.DisplayNames([spoken()], { type: 'language' });
  return (
    <Select
      label={label}
      error={error}
      placeholder={marks('language_default')}
      clearable
      data={[...new Set([...LANGUAGES, ...(value === '' ? [] : [value])])].map((code) => ({
        value: code,
        label: names.of(code.replace('_', '-')) ?? code,
      }))}
      value={value === '' ? null : value}
      onChange={(language) => onChange(language ?? '')}
      {...(fixed && FIXED)}
    />
  );
}
function Flags({
  customer,
  fields,
  onChange,
}: {
  readonly customer: Customer | null;
  readonly fields: Pick<FormFields, 'vip' | 'blocked'>;
  readonly onChange: (more: Partial<Pick<FormFields, 'vip' | 'blocked'>>) => void;
}): ReactNode {
  return (
    <>
      <Checkbox
        label={marks('vip')}
        description={t('vip_hint')}
        checked={fields.vip}
        disabled={isFixed(customer, 'vip')}
        onChange={(event) => onChange({ vip: event.currentTarget.checked })}
      />
      <Checkbox
        label={marks('blocked')}
        description={t('blocked_hint')}
        checked={fields.blocked}
        disabled={isFixed(customer, 'blocked')}
        onChange={(event) => onChange({ blocked: event.currentTarget.checked })}
      />
    </>
  );
}
const NEW: FormFields = {
  kind: 'person',
  name: '',
  company: '',
  emails: [],
  note: '',
  owner: null,
  language: '',
  vip: false,
  blocked: false,
  shared: false,
};
const Merged = (): ReactNode => (
  <Text size="sm" role="alert">
    {t('merged')}
  </Text>
);
const labelsOf = () => ({
  name: t('name'),
  company: t('company'),
  numbers: t('numbers'),
  emails: t('emails'),
  owner: t('owner'),
  language: marks('language'),
  note: t('note'),
  vip: marks('vip'),
  blocked: marks('blocked'),
  shared: t('shared'),
});
interface FormProps {
  /** Null creates a customer. */
  readonly customer: Customer | null;
  /** Number of a new customer. */
  readonly number?: string;
  readonly name?: string;
  readonly onClose: () => void;
}
export function CustomerForm({ customer, number = '', name = '', onClose }: FormProps): ReactNode {
  const client = useClient();
  const maySupervise = useMay('supervisor');
  const hint = hintOf(customer);
  const fixedOf = (field: keyof FormFields) => isFixed(customer, field) && FIXED;
  const [fields, setFields] = useState<FormFields>(
    customer === null ? { ...NEW, name, shared: maySupervise } : fieldsOf(customer),
  );
  const [numbers, setNumbers] = useState<readonly NumberRow[]>(
    customer === null ? [{ key: 0, number, label: '' }] : rowsOf(customer.numbers),
  );
  // The customer as the fields were read, also where a newer one is read meanwhile.
  const [base, setBase] = useState(customer);
  const [merged, setMerged] = useState(false);
  const wanted = wantedOf(base, fields, numbers);
  const attempt = useAttempt();
  /** Call it after another person stored the customer: it merges those changes into the form, which can then be saved. */
  async function merge(before: Customer): Promise<void> {
    const { customer: theirs } = await client.phonebook.get(before.id);
    setFields((mine) => mergedFields(before, mine, theirs));
    setNumbers((mine) => mergedRows(before, mine, theirs));
    setBase(theirs);
    setMerged(true);
  }
  const set = (more: Partial<FormFields>): void => setFields((before) => ({ ...before, ...more }));
  const change = useChange(
    async () => {
      setMerged(false);
      if (base === null) return attempt(wanted, (options) => client.phonebook.create(wanted, options));
      try {
        return await client.phonebook.replace(base.id, wanted, { if_match: base.version });
      } catch (error) {
        if (error instanceof OffhookError && error.code === 'precondition_failed') await merge(base);
        throw error;
      }
    },
    {
      renews: [CUSTOMERS],
      done: () => t(customer === null ? 'created' : 'changed'),
      onDone: onClose,
    },
  );
  const labels = labelsOf();
  const field = fieldsWith(change.error, labels);
  return (
    <Dialog opened onClose={onClose} title={t(customer === null ? 'new' : 'edit_title')} size="lg">
      <ChangeForm
        change={change}
        submit={t(customer === null ? 'create' : 'save')}
        labels={labels}
        onClose={onClose}
      >
        {hint !== null && <Text size="sm">{t(hint)}</Text>}
        <SegmentedControl
          aria-label={t('kind')}
          value={fields.kind}
          readOnly={isFixed(customer, 'kind')}
          onChange={(kind) => set({ kind: kind as Customer['kind'] })}
          data={[
            { value: 'person', label: t('kind_person') },
            { value: 'company', label: t('kind_company') },
          ]}
        />
        <NameFields customer={customer} fields={fields} field={field} onChange={set} />
        <NumberFields
          rows={numbers}
          fixed={isFixed(customer, 'numbers')}
          errorAt={(part) => errorAt(change.error, `numbers.${part}`)}
          onChange={setNumbers}
        />
        <TagsInput
          {...field('emails')}
          description={t('emails_hint')}
          value={fields.emails}
          onChange={(emails) => set({ emails })}
          maxTags={MOST.emails}
          splitChars={[',', ' ', ';']}
          inputMode="email"
          {...fixedOf('emails')}
        />
        <OwnerSelect {...field('owner')} value={fields.owner} onChange={(owner) => set({ owner })} />
        <LanguageSelect
          {...field('language')}
          value={fields.language}
          fixed={isFixed(customer, 'language')}
          onChange={(language) => set({ language })}
        />
        <Textarea
          {...field('note')}
          value={fields.note}
          maxLength={MOST.note}
          onChange={(event) => set({ note: event.currentTarget.value })}
          minRows={2}
          maxRows={8}
          autosize
        />
        <Flags customer={customer} fields={fields} onChange={set} />
        {maySupervise && (
          <Checkbox
            label={t('shared')}
            description={t('shared_hint')}
            checked={fields.shared}
            disabled={customer?.shared === true}
            onChange={(event) => set({ shared: event.currentTarget.checked })}
          />
        )}
        {merged && <Merged />}
      </ChangeForm>
    </Dialog>
  );
}
