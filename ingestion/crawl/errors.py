"""Why a page was not read, or a website cannot be crawled. Codes are kept in the sync's history."""

from __future__ import annotations

from dolphy.errors import DolphyError, InvalidInput


class FetchError(DolphyError):
    """The page could not be fetched."""

    code = "fetch_failed"
    status = 502
    passing = False  # whether trying again in a while may help


class UrlRefused(FetchError, InvalidInput):
    """Only http and https addresses on the usual ports can be crawled, without a user name."""

    code = "url_refused"
    status = 400


class AddressRefused(FetchError):
    """The address leads into a private network, which is not crawled."""

    code = "address_refused"
    status = 400


class HostNotFound(FetchError):
    """The name of the server is not known."""

    code = "host_not_found"
    passing = True


class ConnectionFailed(FetchError):
    """The server does not answer."""

    code = "connection_failed"
    passing = True


class TlsFailed(FetchError):
    """The server's certificate is not valid, or it speaks no TLS that can be trusted."""

    code = "tls_failed"


class TooSlow(FetchError):
    """The server took longer than a page may take."""

    code = "too_slow"
    passing = True


class PageTooLarge(FetchError):
    """The page is larger than a page may be."""

    code = "page_too_large"


class BrokenResponse(FetchError):
    """The server's answer is not valid HTTP, or broke off."""

    code = "broken_response"
    passing = True


class TooManyRedirects(FetchError):
    """The address leads on and on to others."""

    code = "too_many_redirects"


class RedirectLoop(TooManyRedirects):
    """The address leads back to itself."""

    code = "redirect_loop"


class RedirectOutside(FetchError):
    """The address leads to a page that is not part of the website."""

    code = "redirect_outside"


class NotADocument(FetchError):
    """The address holds a picture, a program or another thing without text."""

    code = "not_a_document"


class HttpStatus(FetchError):
    """The server refused the page."""

    def __init__(self, answer: int) -> None:
        self.code = f"http_{answer}"
        self.passing = answer in {408, 425, 429} or answer >= 500
        super().__init__(f"It answered {answer}.", answer=answer)


class PageFault(FetchError):
    """Dolphy could not work on the page, through a fault of its own."""

    code = "error"
    status = 500


class SitemapBroken(FetchError):
    """The sitemap is damaged or breaks off, so it may name more pages than could be read of it."""

    code = "sitemap_broken"
    passing = True


class SitemapEmpty(FetchError):
    """The sitemap names no page any more, which is believed when it does so again."""

    code = "sitemap_empty"


class BadPattern(InvalidInput):
    """A pattern is a path such as /help/*, or a whole address, of at most 500 characters."""

    code = "bad_pattern"


class SyncAtWork(DolphyError):
    """A sync of this website is at work already."""

    code = "sync_at_work"
    status = 409


class SyncFinished(DolphyError):
    """The sync has ended already."""

    code = "sync_finished"
    status = 409


class SyncLost(DolphyError):
    """The sync was paused, cancelled, or taken over by another worker."""

    code = "sync_lost"
    status = 409


class StartFailed(DolphyError):
    """The page that the website starts from could not be read, so nothing was removed."""

    code = "start_failed"
    status = 502
