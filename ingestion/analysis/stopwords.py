"""Words that a question leans on and an answer does not repeat.

Folded. Only questions drop them: passages are indexed whole, so that a question of nothing but
stop words still finds its passage. Other languages have no list: the rarity weights of the
lexical branch do most of this work.
"""

from __future__ import annotations

_TURKISH = """
acaba ama ancak artik asla aslinda ayrica bana bazen bazi bazilari belki ben benden beni benim beri
bile bir biraz bircok biri birkac birsey biz bizden bize bizi bizim boyle boylece bu buna bunda
bundan bunlar bunlari bunlarin bunu bunun burada buradan buraya cok cunku da daha dahi de defa degil
degildir diger diye dolayi dolayisiyla eger en fakat falan gibi gore hala hangi hangileri hangisi
hatta hem henuz hep hepsi her herhangi herkes hic hicbir icin icinde ile ilgili ise iste itibaren
kac kaca kacinci kacta kactan kadar karsin kendi kendine kendini ki kim kimden kime kimi kimin
kimler kimse lutfen madem mi midir misin misiniz miyim miyiz mu mudur musun musunuz muyum muyuz
nasil nasildir ne neden nedeniyle nedenle nedir neler nelerdir nerede neredeki nereden neresi nereye
nesi neye neyi neyin nicin niye o olan olarak oldu oldugu olduklari olmak olmasi olmaz olsa olup
olur olursa oluyor ona ondan onlar onlara onlardan onlari onlarin onu onun orada oyle oysa pek peki
ragmen sadece sana sanki sayet sen senden seni senin siz sizden size sizi sizin sonra soyle su suna
sunlar sunu sunun tarafindan tum uzere var vardir ve veya ya yada yani yine yok yoksa yoktur zaten
zira
"""

_ENGLISH = """
a about after all also am an and any are as at be been before being but by can could did do does
doing for from had has have having he her here hers him his how i if in into is it its just me
might more most my no nor not of off on once only or other our out over own please same shall she
should so some such than that the their them then there these they this those through to too
under until up very was we were what when where which while who whom whose why will with would
you your
"""

_STOP_WORDS = {"tr": frozenset(_TURKISH.split()), "en": frozenset(_ENGLISH.split())}


def stop_words(language: str) -> frozenset[str]:
    """The folded stop words of `language`; empty where there is no list."""
    return _STOP_WORDS.get(language, frozenset())
