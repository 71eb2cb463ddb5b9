"""The page about a survey, in HTML. It sets what the analyses found and decides nothing."""

from deniable.page.page import write_page as write_page
