"""The role of a mail by its labels and folders: sent, received, or no behaviour at all.

Gmail's Takeout writes a mail's labels into ``X-Gmail-Labels``, in the language of the account. Mail programs name
their folders in the language of the machine. The names below are those that Gmail, Outlook, Apple Mail,
Thunderbird and the IMAP servers use (as of 2026).
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from observations.ingest.mail.headers import decode_text

Role = Literal["sent", "inbox", "spam", "trash", "draft", "chat", "outbox"]
"""What a folder or label is for. ``outbox``: written, not yet sent."""

NO_BEHAVIOUR: tuple[Role, ...] = ("spam", "trash", "draft", "chat", "outbox")
"""Mail in these is left out."""

LONGEST_LABELS = 4_000
"""Maximum length of the labels of a mail, in characters."""


class Labels(NamedTuple):
    """The labels of a mail, without those that only mark it as opened, and the role they give it.

    Gmail has no label for archived mail: without any other role, a mail was received.
    """

    names: tuple[str, ...]
    role: Role


@lru_cache(maxsize=4096)
def parse_labels(raw: str) -> Labels:
    """The labels of an ``X-Gmail-Labels`` header; a label with a comma in it is quoted.

    >>> parse_labels('"Clients, North",Inbox,Opened')
    Labels(names=('Clients, North', 'Inbox'), role='inbox')
    """
    text = decode_text(raw, LONGEST_LABELS)
    try:
        row = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        row = text.split(",")
    names = [label.strip() for label in row if label.strip()]
    roles = {role_of(name) for name in names}
    return Labels(
        names=tuple(name for name in names if _key(name) not in _STATES),
        role=strongest(roles) or "inbox",
    )


def strongest(roles: Iterable[Role | None]) -> Role | None:
    """The role that counts where a mail has several: a draft in the inbox is a draft."""
    given = set(roles)
    return next((role for role in (*NO_BEHAVIOUR, "sent", "inbox") if role in given), None)


def role_of(name: str) -> Role | None:
    """The role of a folder or label with this name; None if the name is not known.

    >>> role_of("Gesendete Elemente"), role_of("Projects")
    ('sent', None)
    """
    return _ROLES.get(_key(name))


def role_of_place(label: str, *, is_folder: bool) -> Role | None:
    """What the folder is for that a source is (an mbox) or lies in, by the parts of its label, the nearest first.

    Understands maildir (``.Sent.2023/cur/…:2,S``: the flags D and T mean draft and deleted), Thunderbird
    (``Sent``, ``Sent.sbd/2023``), Apple Mail (``Sent Messages.mbox/mbox``) and IMAP's encoding of names.

    >>> role_of_place("backup.zip!Maildir/.Gesendet/cur/1712.M1P2.host:2,S", is_folder=False)
    'sent'
    >>> role_of_place("Takeout/Mail/All mail Including Spam and Trash.mbox", is_folder=True) is None
    True
    """
    flags = _FLAGS.search(label)
    if flags is not None:
        if "D" in flags[1] or "T" in flags[1]:
            return "draft" if "D" in flags[1] else "trash"
        label = label[: flags.start()]
    parts = [part for part in re.split(r"[/\\!]", label) if part][-_DEPTH:]
    if not is_folder:
        parts = parts[:-1]  # a saved mail is named by its subject
    roles = (role for part in reversed(parts) for name in _folder_names(part) if (role := role_of(name)))
    return next(roles, None)


_DEPTH = 4
"""Parts of a path that are looked at: the file and the three folders around it. Above them are other things'
names, and a home folder that is called Trash must not cost a mailbox.
"""

_FLAGS = re.compile(r"[:;!]2,([A-Za-z]*)$")
_SUFFIX = re.compile(r"\.(?:mbox|mbx|sbd|eml|emlx|zip|imapmbox)$", re.IGNORECASE)


def _folder_names(part: str) -> list[str]:
    """The names in one part of a path, the innermost first: ``.INBOX.Sent`` is Sent in INBOX."""
    name = _decode_imap(_SUFFIX.sub("", part))
    return [name, *reversed(name.split("."))] if "." in name else [name]


def _decode_imap(name: str) -> str:
    """A folder's name from IMAP's own UTF-7 (RFC 3501, 5.1.3): ``Entw&APw-rfe``; any other name as it is."""
    return _SHIFTED.sub(lambda m: f"+{m[1].replace(',', '/')}-".encode().decode("utf-7", "replace"), name)


_SHIFTED = re.compile(r"&([A-Za-z0-9+,]+)-")


def _key(name: str) -> str:
    """A name to be looked up by: macOS writes its letters and their accents apart."""
    return unicodedata.normalize("NFC", name).casefold()


_NAMES: Mapping[Role, str] = {
    "sent": """
        Sent|Sent Mail|Sent Messages|Sent Items|Sent-Mail|Sent_Mail|Sent Mails|Sent Objects|
        Gesendet|Gesendete|Gesendete Elemente|Gesendete Objekte|Gesendete Nachrichten|Gesendete Mails|
        Messages envoyés|Envoyés|Envoyé|Éléments envoyés|Courrier envoyé|Objets envoyés|
        Enviados|Enviado|Enviadas|Elementos enviados|Mensajes enviados|Correo enviado|
        E-mails enviados|Mensagens enviadas|Itens enviados|Itens Enviados|Correio enviado|
        Posta inviata|Inviati|Inviata|Elementi inviati|Messaggi inviati|
        Verzonden|Verzonden items|Verzonden berichten|Verzonden objecten|
        Skickat|Skickade|Skickade objekt|Skickade meddelanden|Skickad e-post|
        Sendt|Sendte|Sendt post|Sendte mails|Sendte e-poster|Sendte elementer|Sendte beskeder|Sendt e-post|
        Lähetetyt|Lähetetyt viestit|Wysłane|Elementy wysłane|Wysłane elementy|
        Odeslané|Odeslaná pošta|Odeslané zprávy|Odoslané|Odoslaná pošta|
        Elküldött|Elküldött elemek|Elküldött levelek|Elküldött üzenetek|Trimise|Mesaje trimise|Elemente trimise|
        Gönderilmiş Postalar|Gönderilmiş Öğeler|Gönderilenler|Gönderilen|Gönderilmiş|
        Απεσταλμένα|Σταλμένα|Отправленные|Надіслані|Изпратени|Poslano|Poslane|Enviats|
        送信済み|送信済みメール|送信済みアイテム|已发送|已发邮件|已发送邮件|寄件備份|寄件備份匣|已傳送|
        보낸편지함|보낸 편지함|보낸메일함|البريد المرسل|المرسلة|العناصر المرسلة|
        נשלח|דואר שנשלח|פריטים שנשלחו|Thư đã gửi|Đã gửi|Terkirim|Surat Terkirim|จดหมายที่ส่งแล้ว|ส่งแล้ว|भेजे गए|भेजा गया""",
    "inbox": """
        Inbox|Posteingang|Boîte de réception|Recibidos|Bandeja de entrada|Caixa de entrada|Posta in arrivo|
        Postvak IN|Inkorg|Inkorgen|Indbakke|Innboks|Saapuneet|Odebrane|Doručená pošta|Beérkező levelek|Primite|
        Mesaje primite|Gelen Kutusu|Εισερχόμενα|Входящие|Вхідні|受信トレイ|受信箱|收件箱|收件匣|받은편지함|
        البريد الوارد|דואר נכנס|Hộp thư đến|Kotak Masuk|กล่องจดหมาย|इनबॉक्स""",
    "spam": """
        Spam|Junk|Junk Mail|Junk E-mail|Junk Email|Bulk Mail|Junk-E-Mail|Spamverdacht|
        Courrier indésirable|Indésirables|Pourriel|Correo no deseado|Lixo eletrônico|Lixo Electrónico|
        Posta indesiderata|Indesiderata|Ongewenst|Ongewenste e-mail|Ongewenste reclame|Skräppost|Uønsket|
        Uønsket mail|Uønsket post|Søppelpost|Roskaposti|Wiadomości-śmieci|Nevyžádaná pošta|Nevyžiadaná pošta|
        Levélszemét|Önemsiz|Önemsiz E-posta|Istenmeyen|Ανεπιθύμητα|Спам|Нежелательная почта|Небажана пошта|
        Correu brossa|迷惑メール|垃圾邮件|垃圾郵件|스팸|스팸함|스팸메일함|정크 메일|غير مرغوب فيه|الرسائل غير المرغوب فيها|
        דואר זבל|ספאם|Thư rác|สแปม|จดหมายขยะ|स्पैम""",
    "trash": """
        Trash|Bin|Deleted|Deleted Items|Deleted Messages|Papierkorb|Gelöscht|Gelöschte Elemente|
        Gelöschte Objekte|Corbeille|Éléments supprimés|Messages supprimés|Papelera|Elementos eliminados|Eliminados|
        Lixeira|Lixo|Reciclagem|Itens excluídos|Itens eliminados|Cestino|Posta eliminata|Eliminata|
        Prullenbak|Prullenmand|Verwijderde items|Papperskorgen|Borttagna objekt|Papirkurv|Slettet post|
        Slettede elementer|Roskakori|Poistetut|Kosz|Elementy usunięte|Koš|Odstraněná pošta|Kôš|Kuka|
        Törölt elemek|Coș de gunoi|Gunoi|Elemente șterse|Çöp|Çöp Kutusu|Silinmiş Öğeler|Κάδος απορριμμάτων|Κάδος|
        Корзина|Удаленные|Удалённые|Кошик|Видалені|Кошче|Paperera|ゴミ箱|削除済みアイテム|已删除邮件|已删除|垃圾箱|
        回收站|垃圾桶|刪除的郵件|휴지통|지운 편지함|المهملات|אשפה|פריטים שנמחקו|Thùng rác|Sampah|ถังขยะ|ट्रैश""",
    "draft": """
        Draft|Drafts|Entwurf|Entwürfe|Brouillon|Brouillons|Borrador|Borradores|
        Rascunho|Rascunhos|Bozza|Bozze|Concepten|Utkast|Kladde|Kladder|Udkast|Luonnos|Luonnokset|
        Wersje robocze|Wersja robocza|Szkice|Kopie robocze|Koncept|Koncepty|Piszkozat|Piszkozatok|Schițe|Ciorne|
        Mesaje nefinalizate|Taslak|Taslaklar|Πρόχειρα|Черновик|Черновики|Чернетка|Чернетки|Чернови|Esborranys|
        下書き|草稿|草稿箱|임시보관함|임시 보관함|المسودات|مسودات|טיוטה|טיוטות|Thư nháp|Bản nháp|Draf|จดหมายร่าง|
        ร่างจดหมาย|ड्राफ़्ट""",
    "chat": """
        Chat|Chats|Conversation History|Verlauf der Unterhaltungen|Чат|Чаты|チャット|聊天|即時通訊|채팅|צ'אט|
        Sohbet|Czat""",
    "outbox": """
        Outbox|Scheduled|Unsent|Unsent Messages|Postausgang|Geplant|Boîte d'envoi|Planifiés|Programmés|
        Bandeja de salida|Programados|Caixa de saída|Agendados|Posta in uscita|Programmati|Postvak UIT|Gepland|
        Utkorg|Udbakke|Utboks|Skrzynka nadawcza|Zaplanowane|Исходящие|Запланированные|送信トレイ|予約送信|寄件匣|
        发件箱|已定时""",
}
_ROLES: Mapping[str, Role] = {
    _key(name.strip()): role for role, names in _NAMES.items() for name in names.split("|")
}
_STATE_NAMES = """
        Opened|Unread|Geöffnet|Ungelesen|Ouvert|Ouverts|Non lu|Non lus|Abierto|Abiertos|No leído|No leídos|
        Aberto|Abertos|Não lida|Não lidas|Não lido|Não lidos|Aperto|Aperti|Da leggere|Non letti|Geopend|Ongelezen|
        Öppnad|Öppnade|Oläst|Olästa|Åbnet|Ulæst|Ulæste|Åpnet|Ulest|Uleste|Avattu|Lukematon|Lukemattomat|Otwarte|
        Nieprzeczytane|Otevřené|Nepřečtené|Megnyitva|Olvasatlan|Açıldı|Okunmamış|Открыто|Непрочитанные|開封済み|
        未開封|未読|已打开|未读|未读邮件|已開啟|未讀取|未讀|읽음|읽지않음|읽지 않음"""
_STATES = frozenset(_key(name.strip()) for name in _STATE_NAMES.split("|"))
